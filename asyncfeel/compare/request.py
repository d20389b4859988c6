"""What was asked for: a comparison as one value, which its folder keeps as comparison.toml."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from asyncfeel import safe_files
from asyncfeel.compare import variants
from asyncfeel.compare.variants import Axes, Variant
from asyncfeel.errors import InputError
from asyncfeel.scenario import Scenario, text
from asyncfeel.scenario.build import as_table

NAME = "comparison.toml"
_HEADING = "# What is compared: 'asyncfeel compare --out' with this folder goes on with it.\n"


@dataclass(frozen=True)
class Run:
    """One run of a comparison: which variant, which seed, and its whole scenario."""

    variant: Variant
    seed: int
    scenario: Scenario

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.variant.slug}-seed{self.seed}"

    def __str__(self) -> str:
        return f"{self.variant.name}, seed {self.seed}"


@dataclass(frozen=True)
class Request:
    """A scenario, what is set in all variants, what is varied, over which seeds, and up to which accuracies."""

    scenario: Scenario
    axes: Axes
    seeds: Sequence[int] = (1,)
    targets: Sequence[float] = ()
    given: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def variants(self) -> list[Variant]:
        """Every combination of the varied values."""
        return variants.expand(self.axes, self.scenario.replace(set=self.given).algorithm.kind)

    @cached_property
    def runs(self) -> list[Run]:
        """Every variant with the first seed, then every variant with the next one, and so on."""
        total = prod(len(values) for values in self.axes.values()) * len(self.seeds)
        if total > variants.MOST:
            raise InputError(f"these are {total:,} runs: compare at most {variants.MOST:,} at once")
        return [Run(one, seed, self._scenario(one, seed)) for seed in self.seeds for one in self.variants]

    def _scenario(self, variant: Variant, seed: int) -> Scenario:
        try:
            return self.scenario.replace(set={**self.given, **variant.dotted, "seed": seed})
        except InputError as error:
            raise InputError(f"variant {variant.name!r}: {error}") from error

    def check(self) -> None:
        """Refuse what can be seen to be wrong before anything runs: keys, types, names and their options."""
        from asyncfeel.prepare import with_defaults

        for run in self.runs[: len(self.variants)]:
            try:
                with_defaults(run.scenario)
            except InputError as error:
                raise InputError(f"variant {run.variant.name!r}: {error}") from error

    def differences(self, other: "Request") -> list[str]:
        """In what the runs of two requests differ; nothing if they are the same runs."""
        if self.runs == other.runs:
            return []
        names = [[variant.name for variant in one.variants] for one in (self, other)]
        found = ["the variants"] if names[0] != names[1] else []
        found += ["the seeds"] if list(self.seeds) != list(other.seeds) else []
        return found or ["the scenario"]


def write(request: Request) -> str:
    """The request as TOML, complete: nothing outside the file is needed to go on with it."""
    lines = [_HEADING + f"seeds = {_literal(request.seeds)}", f"targets = {_literal(request.targets)}"]
    lines += _section("vary", request.axes)
    lines += _section("set", request.given)
    lines += _section("scenario", dict(_flat("", as_table(request.scenario))))
    return "\n".join(lines) + "\n"


def _section(name: str, entries: Mapping[str, Any]) -> list[str]:
    return ["", f"[{name}]", *(f"{text.literal(key)} = {_literal(value)}" for key, value in entries.items())]


def _flat(path: str, table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        found += _flat(f"{path}{key}.", value) if isinstance(value, dict) else [(f"{path}{key}", value)]
    return found


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text.literal(key)} = {_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_literal(item) for item in value)}]"
    return text.literal(value)


def read(folder: Path) -> Request:
    """The request that a comparison's folder was made for."""
    path = folder / NAME
    try:
        table = safe_files.load_toml(path, "the file")
        axes = {key: tuple(values) for key, values in table["vary"].items()}
        scenario = Scenario.load("none", set=table["scenario"])
        return Request(scenario, axes, tuple(table["seeds"]), tuple(table["targets"]), dict(table["set"]))
    except (ValueError, LookupError, TypeError, AttributeError, InputError) as error:
        raise InputError(f"{str(path)!r} is not that of a comparison: {error}") from error
