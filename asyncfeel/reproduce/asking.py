"""The flags of `asyncfeel reproduce` as a comparison: which runs, in which folder."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncfeel.compare import variants
from asyncfeel.compare.request import Request
from asyncfeel.errors import InputError
from asyncfeel.reproduce import scales
from asyncfeel.scenario import Scenario, text
from asyncfeel.scenario.build import FLAGS

FIGURES = ("fig1", "fig2")
_SAID = ("heterogeneity", "seeds", "until", "target", "set_")
"""The flags that change a number: the others say where and how it is computed."""
_PASSED = ("until", "data_dir", "executor", "workers", "device")


@dataclass(frozen=True)
class Asked:
    """A figure to reproduce: the runs that it needs, the folder, and the command that says so again."""

    figure: str
    scale: str
    request: Request
    out: Path
    command: str


def asked(arguments: Mapping[str, Any]) -> Asked:
    """What the flags ask for."""
    figure, name = arguments["figure"], arguments["scale"]
    if figure not in FIGURES:
        raise InputError(f"the figure {figure!r} is unknown: there are {' and '.join(FIGURES)}")
    scale = scales.named(name)
    make = _fig1 if figure == "fig1" else _fig2
    out = arguments["out"] or Path(f"reproduce-{figure}") / name
    return Asked(figure, name, make(scale, arguments), out, _command(figure, name, arguments))


def _fig2(scale: scales.Scale, arguments: Mapping[str, Any]) -> Request:
    gaps = _gaps(arguments["heterogeneity"]) or scales.GAPS
    seeds = _seeds(arguments) or scales.SEEDS
    targets = variants.targets(arguments["target"] or []) or tuple(scale.targets)
    if arguments["executor"] == "stub":
        raise InputError("fig2 trains, so --executor stub has nothing to show: choose another, or fig1")
    axes = {"speeds.heterogeneity": gaps, "algorithm.kind": scales.ALGORITHMS}
    return Request(Scenario.load(scale.preset, set=scale.settings), axes, seeds, targets, _given(arguments))


def _fig1(scale: scales.Scale, arguments: Mapping[str, Any]) -> Request:
    gaps, seeds = _gaps(arguments["heterogeneity"]), _seeds(arguments)
    if len(gaps) > 1 or len(seeds) > 1:
        raise InputError("fig1 shows one schedule: give one --heterogeneity and one seed")
    if arguments["target"] or arguments["executor"]:
        raise InputError("fig1 trains nothing: --target and --executor are for fig2")
    given = _given(arguments) | scales.SCHEDULE_ONLY | ({"speeds.heterogeneity": gaps[0]} if gaps else {})
    return Request(Scenario.load(scale.preset), {"algorithm.kind": scales.ALGORITHMS}, seeds or (1,), (), given)


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that --set and the short flags set, as a comparison keeps them."""
    dotted = dict(text.parse_assignment(item) for item in arguments["set_"] or [])
    for key in dotted:
        if key.partition(".")[0] in ("algorithm", "seed") or key == "speeds.heterogeneity":
            raise InputError(f"--set {key}: what a figure compares is not set; --heterogeneity and --seeds choose")
    return dotted | {FLAGS[flag]: arguments[flag] for flag in _PASSED if arguments[flag] is not None}


def _seeds(arguments: Mapping[str, Any]) -> Sequence[int]:
    return () if arguments["seeds"] is None else variants.seeds(arguments["seeds"])


def _gaps(given: str | None) -> tuple[float, ...]:
    """The heterogeneity gaps in a list, in rising order; whole ones as whole numbers."""
    if given is None:
        return ()
    found = sorted({_gap(part, given) for part in given.split(",")})
    return tuple(int(gap) if gap.is_integer() else gap for gap in found)


def _gap(part: str, given: str) -> float:
    try:
        gap = float(part)
    except ValueError:
        gap = 0.0
    if not 1 <= gap < float("inf"):
        raise InputError(f"--heterogeneity takes gaps of at least 1, such as 5,10,30, not {given!r}")
    return gap


def _command(figure: str, scale: str, arguments: Mapping[str, Any]) -> str:
    """The command that gives the same numbers: without folders and devices."""
    parts = ["asyncfeel", "reproduce", figure, "--scale", scale]
    for name in _SAID:
        values = arguments[name]
        for value in values if isinstance(values, list) else [values] if values is not None else []:
            parts += [f"--{name.removesuffix('_')}", str(value)]
    return shlex.join(parts)
