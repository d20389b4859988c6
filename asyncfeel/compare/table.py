"""The table of a comparison: a row for each run, and a row for each variant over its seeds."""

import statistics
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from asyncfeel.compare.outcome import LINKS, Outcome, names, time_to
from asyncfeel.compare.variants import label

Row = dict[str, Any]
ALONE = "-"


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the numbers that are there; None if there are none.

    >>> mean([1.0, None, 2.0]), mean([None])
    (1.5, None)
    """
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def spread(values: Iterable[float | None]) -> float | None:
    """The sample standard deviation of the numbers that are there; None if there are fewer than two.

    >>> spread([1.0, None, 3.0]), spread([1.0])
    (1.4142135623730951, None)
    """
    known = [value for value in values if value is not None]
    return statistics.stdev(known) if len(known) > 1 else None


def pairs(outcomes: Sequence[Outcome]) -> list[str]:
    """A letter for each outcome: runs of one seed with one schedule share it; `-` for a run alone.

    The same variants keep their letter from seed to seed, and other ones never get it.
    """
    groups: dict[tuple[int, str], list[str]] = {}
    for one in outcomes:
        if one.schedule:
            groups.setdefault((one.run.seed, one.schedule), []).append(one.run.variant.name)
    letters: dict[tuple[str, ...], str] = {}
    numbers = count()
    for members in groups.values():
        if len(members) > 1 and tuple(members) not in letters:
            letters[tuple(members)] = letter(next(numbers))
    return [letters.get(tuple(groups.get((one.run.seed, one.schedule), ())), ALONE) for one in outcomes]


def letter(number: int) -> str:
    """The name of a group.

    >>> letter(0), letter(25), letter(26), letter(52)
    ('A', 'Z', 'AA', 'BA')
    """
    rest, last = divmod(number, 26)
    return (letter(rest - 1) if rest else "") + chr(ord("A") + last)


def of_runs(outcomes: Sequence[Outcome], targets: Sequence[float]) -> list[Row]:
    """One row for each run."""
    return [
        {
            **_who(one),
            "seed": one.run.seed,
            "status": one.status,
            "paired": paired,
            **{name: one.numbers.get(name) for name in names(targets)},
            "schedule": one.schedule,
            "folder": f"runs/{one.run.name}",
            "message": one.message,
        }
        for one, paired in zip(outcomes, pairs(outcomes), strict=True)
    ]


def of_variants(outcomes: Sequence[Outcome], targets: Sequence[float]) -> list[Row]:
    """One row for each variant: means and spreads over the seeds that are finished."""
    grouped: dict[str, list[tuple[Outcome, str]]] = {}
    for one, paired in zip(outcomes, pairs(outcomes), strict=True):
        grouped.setdefault(one.run.variant.name, []).append((one, paired))
    return [_variant(members, targets) for members in grouped.values()]


def _variant(members: list[tuple[Outcome, str]], targets: Sequence[float]) -> Row:
    finished = [(one, paired) for one, paired in members if one.status == "finished"]
    numbers = {name: [one.numbers.get(name) for one, _ in finished] for name in names(targets)}
    row = {
        **_who(members[0][0]),
        "runs": len(members),
        "finished": len(finished),
        "paired": ",".join(dict.fromkeys(paired for _, paired in finished)) or ALONE,
        "iterations_mean": mean(numbers["iterations"]),
    }
    for target in targets:
        times = numbers[time_to(target)]
        row[f"{time_to(target)}_mean"], row[f"{time_to(target)}_std"] = mean(times), spread(times)
        row[f"reached_{target}"] = len([time_s for time_s in times if time_s is not None])
    row |= {
        "final_accuracy_mean": mean(numbers["final_accuracy"]),
        "final_accuracy_std": spread(numbers["final_accuracy"]),
        "best_accuracy_mean": mean(numbers["best_accuracy"]),
        **{f"{link}_mean": mean(numbers[link]) for link in LINKS},
        "staleness_mean": mean(numbers["staleness_mean"]),
        "staleness_max": max((value for value in numbers["staleness_max"] if value is not None), default=None),
        "idle_share_mean": mean(numbers["idle_share"]),
        "steps_mean": mean(numbers["steps"]),
        "message": "; ".join(dict.fromkeys(one.message for one, _ in members if one.message)),
    }
    return row


def _who(one: Outcome) -> Row:
    variant = one.run.variant
    return {"variant": variant.name, **{key: label(value) for key, value in variant.values.items()}}
