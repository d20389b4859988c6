"""Seeds into series: runs that differ only in the seed are one, the others are named by what differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncfeel.errors import InputError
from asyncfeel.report.reading import Run, read
from asyncfeel.scenario import text
from asyncfeel.scenario.build import FLAGS

_SHORT = {key: flag for flag, key in FLAGS.items()}
_NO_PART = ("execution.", "seed", "data_dir")
"""Keys that say where and how a run was made, not what it is."""


@dataclass(frozen=True, eq=False)
class Group:
    """A series: the runs of one scenario, and what people call it."""

    label: str
    runs: Sequence[Run]
    hue: int
    """The number of its colour, the same in every figure."""

    @property
    def first(self) -> Run:
        """The run with the lowest seed: it stands for the group where only one can be shown."""
        return self.runs[0]


def gather(folders: Sequence[Path]) -> list[Group]:
    """The folders' runs as series, in the order in which they were named."""
    places = [folder.resolve() for folder in folders]
    if twice := [str(one) for number, one in enumerate(folders) if places[number] in places[:number]]:
        raise InputError(f"the run {twice[0]!r} is named twice: name each run once")
    together: list[list[Run]] = []
    for run in map(read, folders):
        same = next((runs for runs in together if _nature(runs[0]) == _nature(run)), None)
        if same is None:
            together.append([run])
        else:
            same.append(run)
    for runs in together:
        runs.sort(key=lambda run: run.seed)
    labels = _labels([runs[0] for runs in together])
    return [Group(label, runs, hue) for hue, (label, runs) in enumerate(zip(labels, together, strict=True))]


def _nature(run: Run) -> dict[str, Any]:
    kept = {key: value for key, value in run.config.items() if not key.startswith(_NO_PART)}
    return kept | {"kind": run.manifest["kind"]}


def _labels(runs: Sequence[Run]) -> list[str]:
    natures = [_nature(run) for run in runs]
    keys = sorted({key for nature in natures for key in nature}, key=lambda key: (key != "algorithm.kind", key))
    differing = [key for key in keys if _differs(key, natures)]
    labels = [_label(nature, differing) for nature in natures]
    if len(differing) > 2:
        shorter = [_label(nature, [key for key in differing if _tells(key, nature, natures)]) for nature in natures]
        labels = shorter if len(set(shorter)) == len(set(labels)) else labels
    labels = [label or run.algorithm for label, run in zip(labels, runs, strict=True)]
    return [
        label if labels.count(label) == 1 else f"{label} ({run.name})" for label, run in zip(labels, runs, strict=True)
    ]


def _label(nature: dict[str, Any], keys: Sequence[str]) -> str:
    return ", ".join(_part(key, nature[key]) for key in keys if key in nature)


def _tells(key: str, nature: dict[str, Any], natures: Sequence[dict[str, Any]]) -> bool:
    """Whether a key is worth saying of a series: the algorithm, or what most of the others have not got."""
    alike = sum(other.get(key) == nature.get(key) for other in natures)
    return key == "algorithm.kind" or alike <= len(natures) / 2


def _differs(key: str, natures: Sequence[dict[str, Any]]) -> bool:
    """Whether a key tells series apart; an option of a plug-in does so only among those of its kind."""
    kind = f"{key.partition('.')[0]}.kind"
    alike: dict[Any, list[Any]] = {}
    for nature in natures:
        alike.setdefault(nature.get(kind) if key != kind else None, []).append(nature.get(key))
    return any(value != values[0] for values in alike.values() for value in values)


def _part(key: str, value: Any) -> str:
    shown = value if isinstance(value, str) else text.literal(value)
    return shown if key == "algorithm.kind" else f"{_SHORT.get(key, key)}={shown}"
