"""How large a reproduction is: the preset, what is set on top of it, and the accuracies that are asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncfeel.errors import InputError

GAPS = (5, 10, 30)
"""The heterogeneity gaps H of the paper's Fig. 2."""
ASYNCHRONOUS, SYNCHRONOUS = "async-sd-feel", "sync-sd-feel"
ALGORITHMS = (ASYNCHRONOUS, SYNCHRONOUS)
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Scale:
    """A preset, the keys that differ from it, and the test accuracies whose time is asked for."""

    preset: str
    settings: Mapping[str, Any]
    targets: Sequence[float]


SCALES = {
    "small": Scale(
        "paper-small",
        {
            "stop.until_s": 4000.0,
            "evaluation.every_s": 100.0,
            "evaluation.test_sample": 5000,
            "evaluation.train_sample": 1000,
        },
        (0.2, 0.3, 0.4, 0.5),
    ),
    "paper": Scale("paper", {}, (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)),
}
"""By the name that --scale takes."""

SCHEDULE_ONLY = {"dataset.kind": "digits", "network.model_bits": "paper", "execution.executor": "stub"}
"""A plan of the same schedule, which follows from FLOPs, bits and rates: no CIFAR-10 is read, nothing is trained."""


def named(name: str) -> Scale:
    """The scale of a name.

    >>> named("small").preset
    'paper-small'
    """
    if name not in SCALES:
        raise InputError(f"--scale {name!r} is unknown: there are {' and '.join(SCALES)}")
    return SCALES[name]
