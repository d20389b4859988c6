"""How much each client's data counts against its share, steps per client, and accuracy per server."""

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError
from asyncfeel.report import counting
from asyncfeel.report.charts import Bar, Bars, View
from asyncfeel.report.reading import Run

MOST = 120
"""Clients with a bar of their own."""
FINAL, DATA = "in the final model", "share of the data"


def contribution(run: Run) -> View:
    """Each client's and each cluster's weight in the final model beside its share of the data."""
    try:
        counted = counting.contributions(run)
    except InputError as error:
        return View("", _capital(error))
    samples = run.clients["samples"]
    share = samples / samples.sum()
    ratio = counted / share
    most, least = int(ratio.argmax()), int(ratio.argmin())
    sentence = (
        f"Measured by its share of the data, client {most} counts the most, {ratio[most]:.2f} times as much "
        f"({counted[most]:.2%} against {share[most]:.2%}), and client {least} the least, {ratio[least]:.2f} times."
    )
    servers = len(run.topology)
    groups = [Bar(FINAL, np.bincount(run.clients["server"], counted, servers).tolist(), 0)]
    predicted = [one.get("objective_weight") for one in run.manifest.get("servers", [])]
    notes = ["The weights are exact: they follow from the recorded matrices and steps, cumulated over all iterations."]
    if servers == 1:
        notes.append("There is one cluster, so clusters are not compared.")
    elif len(predicted) == servers and None not in predicted:
        groups.append(Bar("predicted", [float(value) for value in predicted], 2))
        notes.append("Predicted: what each cluster's loss counts for small steps and many iterations.")
    else:
        notes.append("The prediction for the clusters is written when the run ends.")
    groups.append(Bar(DATA, run.shares.tolist(), 1))
    clusters = Bars("clusters", "server", "weight", [str(n) for n in range(servers)], groups, percent=True)
    clients = Bars(
        "clients", "client", "weight", _names(counted),
        [Bar(FINAL, counted[:MOST].tolist(), 0), Bar(DATA, share[:MOST].tolist(), 1)],
        percent=True,
    )  # fmt: skip
    charts = [clients, clusters] if servers > 1 else [clients]
    return View("", sentence, charts, [*notes, *_cut(len(counted))])


def steps(run: Run) -> View:
    """The steps of each client in all completed iterations."""
    try:
        taken = counting.steps(run)
    except InputError as error:
        return View("", _capital(error))
    if not taken.any():
        return View("", "No iteration is complete, so no client has taken a step that counts.")
    most, least = int(taken.argmax()), int(taken.argmin())
    sentence = (
        f"Client {most} took the most mini-batch steps, {taken[most]:,.0f}, and client {least} the fewest, "
        f"{taken[least]:,.0f}; all clients together took {taken.sum():,.0f}."
    )
    chart = Bars("", "client", "mini-batch steps", _names(taken), [Bar("steps", taken[:MOST].tolist())])
    return View("", sentence, [chart], ["Steps of completed iterations.", *_cut(len(taken))])


def accuracy(run: Run) -> View:
    """Each server's own test accuracy at the last test, before the consensus phase."""
    table = run.servers
    if table is None or not len(table["time_s"]):
        return View("", "There is no servers.csv with rows, so the servers' own accuracies are not known.")
    last = (table["time_s"] == table["time_s"][-1]) & (table["iteration"] == table["iteration"][-1])
    servers, values = table["server"][last].astype(np.int64), table["test_accuracy"][last]
    if np.isnan(values).all():
        return View("", _untested(run, table["test_loss"][last]))
    best, worst = int(np.nanargmax(values)), int(np.nanargmin(values))
    sentence = (
        f"At {table['time_s'][-1]:.4g} s, before the consensus phase, the test accuracies of the servers' own models "
        f"range from {values[worst]:.2%} (server {servers[worst]}) to {values[best]:.2%} (server {servers[best]})"
        f"{_global(run)}."
    )
    names = [str(server) for server in servers[:MOST].tolist()]
    chart = Bars("", "server", "test accuracy", names, [Bar("own model", values[:MOST].tolist())], percent=True)
    return View("", sentence, [chart], _cut(len(values), "servers"))


def _untested(run: Run, losses: NDArray[np.float64]) -> str:
    """Why there are no accuracies of servers."""
    if not np.isnan(losses).all():
        return "This task has no classes, so there is no accuracy."
    if run.status == "finished":
        return f"The {len(losses):,} servers are too many to have their own models tested."
    return "The servers' own models are tested when a run has come to its end, and this one has not."


def _global(run: Run) -> str:
    """What the global model reached at its last test."""
    found = float(run.metrics["test_accuracy"][-1]) if run.metrics and len(run.metrics["time_s"]) else float("nan")
    return "" if np.isnan(found) else f"; the global model has {found:.2%}"


def _names(values: NDArray[np.float64]) -> list[str]:
    return [str(number) for number in range(min(len(values), MOST))]


def _cut(count: int, what: str = "clients") -> list[str]:
    return [f"Bars of the first {MOST} of {count:,} {what}."] if count > MOST else []


def _capital(error: InputError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + "."
