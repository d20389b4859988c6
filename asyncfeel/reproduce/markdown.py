"""The results as a page of Markdown: how they were made, the claims, the times, and the rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from asyncfeel import __version__
from asyncfeel.compare.runner import Comparison
from asyncfeel.reproduce import claims, tables
from asyncfeel.reproduce.asking import Asked
from asyncfeel.reproduce.claims import Verdict
from asyncfeel.reproduce.pairs import Curve, Pair
from asyncfeel.units import duration


def write(asked: Asked, found: Comparison, pairs: Sequence[Pair], verdicts: Mapping[str, Sequence[Verdict]]) -> str:
    """The page's text."""
    gaps = [f"{pair.gap:g}" for pair in pairs]
    parts = [
        f"# Asynchronous against synchronous SD-FEEL (the paper's Fig. 2), scale {asked.scale}",
        f"Made by asyncfeel {__version__}:\n\n```sh\n{asked.command}\n```\n\n{_setting(asked, found)}",
        "![Training loss and test accuracy over simulated time](figures/fig2.png)",
        "## The paper's claims",
        table(["claim", *(f"H = {gap}" for gap in gaps), "all"], claim_rows(pairs, verdicts)),
        "## Time to reach an accuracy",
        table(["H", "test accuracy", "asynchronous", "synchronous", "ratio"], time_rows(pairs, found.targets)),
        "`ratio` is synchronous over asynchronous time. Where one system did not reach the accuracy until the end, "
        "the end stands in for it, and `>` or `<` says that the ratio is only a bound.",
        "## What was reached",
        table(["H", "system", "final accuracy", "(seeds)", "mean over time", "iterations", "steps", "idle"],
              _reached(found, pairs)),
        "## How the claims are decided",
        "\n".join(f"- **{claim.words}**: {claim.rule}" for claim in claims.CLAIMS),
        "Every rule looks at the mean over the seeds at each evaluation. `all` leaves out what is undecided.",
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def claim_rows(pairs: Sequence[Pair], verdicts: Mapping[str, Sequence[Verdict]]) -> list[list[str]]:
    """A row for each claim: the verdict and its numbers for every gap, and over all."""
    rows = []
    for claim in claims.CLAIMS:
        judged = {one.gap: f"{claims.word(one.held)}: {one.why}" for one in verdicts[claim.name]}
        cells = [judged.get(pair.gap, "-") for pair in pairs]
        rows.append([claim.words, *cells, claims.overall(verdicts[claim.name])])
    return rows


def time_rows(pairs: Sequence[Pair], targets: Sequence[float]) -> list[list[str]]:
    """A row for each gap and accuracy: both times and their ratio."""
    return [
        [
            f"{pair.gap:g}",
            f"{target:.4g}",
            _time(pair.asynchronous, target),
            _time(pair.synchronous, target),
            str(tables.ratio(pair, target) or "-"),
        ]
        for pair in pairs
        for target in targets
    ]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(heads), *lines[1:]])


def _time(curve: Curve, target: float) -> str:
    reached_s = curve.reached_s(target)
    return "not reached" if reached_s is None else f"{reached_s:,.6g} s"


def _setting(asked: Asked, found: Comparison) -> str:
    scenario = asked.request.runs[0].scenario
    seeds = ", ".join(map(str, asked.request.seeds))
    steps = sum(row["steps"] or 0 for row in found.runs)
    tested, stop = scenario.evaluation, scenario.stop
    until = f"{stop.until_s:,.6g} simulated seconds" if stop.until_s else f"{stop.iterations:,} iterations"
    every = f"every {tested.every_s:,.6g} s" if tested.every_s else "on the default grid"
    return (
        f"Seeds {seeds}; {until}; data `{scenario.dataset.kind}`, model `{scenario.model.kind}`, "
        f"{scenario.federation.clients} clients, batches of {scenario.training.batch}, learning rate "
        f"{scenario.training.learning_rate:g}; tested {every} on {_samples(tested.test_sample, 'test')}, the loss on "
        f"{_samples(tested.train_sample, 'training')}. {len(found.runs)} runs, {steps:,} client steps in completed "
        f"iterations, {duration(sum(_wall_s(asked, row) for row in found.runs))} of real time."
    )


def _samples(number: int, what: str) -> str:
    return f"at most {number:,} {what} samples" if number else f"all {what} samples"


def _wall_s(asked: Asked, row: Mapping[str, Any]) -> float:
    from asyncfeel.recording import manifest

    return float(manifest.read(asked.out / row["folder"])["wall"]["total_s"])


def _reached(found: Comparison, pairs: Sequence[Pair]) -> list[list[str]]:
    rows = []
    for pair in pairs:
        for name, curve in (("async-sd-feel", pair.asynchronous), ("sync-sd-feel", pair.synchronous)):
            (row,) = [one for one in found.variants if _is(one, pair.gap, name)]
            last = curve.accuracies[:, -1]
            ends = f"{last.min():.1%} to {last.max():.1%}"
            means = [f"{curve.accuracy[-1]:.1%}", ends, f"{curve.mean_over_time:.1%}"]
            work = [f"{row['iterations_mean']:,.0f}", f"{row['steps_mean']:,.0f}", f"{row['idle_share_mean']:.0%}"]
            rows.append([f"{pair.gap:g}", name, *means, *work])
    return rows


def _is(row: Mapping[str, Any], gap: float, name: str) -> bool:
    return row["algorithm.kind"] == name and float(row["speeds.heterogeneity"]) == gap
