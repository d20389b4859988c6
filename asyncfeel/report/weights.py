"""How much each client's data counts against its share, steps per client, and accuracy per server."""

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError
from asyncfeel.report import counting
from asyncfeel.report.charts import Bar, Bars, View
from asyncfeel.report.reading import Run

MOST = 120
"""Clients with a bar of their own."""


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
        f"Client {most} counts {ratio[most]:.2f} times its share of the data ({counted[most]:.2%} against "
        f"{share[most]:.2%}) and client {least} {ratio[least]:.2f} times."
    )
    servers = len(run.topology)
    groups = [Bar("in the final model", np.bincount(run.clients["server"], counted, servers).tolist())]
    predicted = [one.get("objective_weight") for one in run.manifest.get("servers", [])]
    notes = ["The weights are exact: they follow from the recorded matrices and steps, cumulated over all iterations."]
    if len(predicted) == servers and None not in predicted:
        groups.append(Bar("predicted", [float(value) for value in predicted]))
        notes.append("Predicted: what each cluster's loss counts for small steps and many iterations.")
    else:
        notes.append("The prediction for the clusters is written when the run ends.")
    groups.append(Bar("share of the data", run.shares.tolist()))
    clusters = Bars("clusters", "server", "weight", [str(n) for n in range(servers)], groups, percent=True)
    clients = Bars(
        "clients", "client", "weight", _names(counted),
        [Bar("in the final model", counted[:MOST].tolist()), Bar("share of the data", share[:MOST].tolist())],
        percent=True,
    )  # fmt: skip
    return View("", sentence, [clients, clusters], [*notes, *_cut(len(counted))])


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
        f"Client {most} took {taken[most]:,.0f} mini-batch steps and client {least} {taken[least]:,.0f}, "
        f"{taken.sum():,.0f} together."
    )
    chart = Bars("", "client", "mini-batch steps", _names(taken), [Bar("steps", taken[:MOST].tolist())])
    return View("", sentence, [chart], ["Steps of completed iterations.", *_cut(len(taken))])


def accuracy(run: Run) -> View:
    """Each server's own test accuracy at the last test, before the consensus phase."""
    table = run.servers
    if table is None or not len(table["time_s"]):
        return View("", "There is no servers.csv with rows, so the servers' own accuracies are not known.")
    last = table["time_s"] == table["time_s"][-1]
    servers, values = table["server"][last].astype(np.int64), table["test_accuracy"][last]
    if np.isnan(values).all():
        return View("", "This task has no classes, so there is no accuracy.")
    best, worst = int(np.nanargmax(values)), int(np.nanargmin(values))
    sentence = (
        f"At {table['time_s'][-1]:.4g} s, before the consensus phase, the servers' own models reach from "
        f"{values[worst]:.2%} (server {servers[worst]}) to {values[best]:.2%} (server {servers[best]})."
    )
    names = [str(server) for server in servers[:MOST].tolist()]
    chart = Bars("", "server", "test accuracy", names, [Bar("own model", values[:MOST].tolist())], percent=True)
    return View("", sentence, [chart], _cut(len(values), "servers"))


def _names(values: NDArray[np.float64]) -> list[str]:
    return [str(number) for number in range(min(len(values), MOST))]


def _cut(count: int, what: str = "clients") -> list[str]:
    return [f"Bars of the first {MOST} of {count:,} {what}."] if count > MOST else []


def _capital(error: InputError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + "."
