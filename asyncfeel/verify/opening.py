"""A folder that is said to be a run's: its manifest and its scenario, as far as they can be read."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from asyncfeel.errors import InputError
from asyncfeel.recording import manifest
from asyncfeel.recording.tables import COLUMNS
from asyncfeel.scenario import Scenario
from asyncfeel.verify import files
from asyncfeel.verify.findings import clipped

LARGEST_CONFIG = 1 << 20
"""The bytes of a config.toml beyond which it is not read."""
ENDED = ("finished", "interrupted")
"""How a run ends that has written its totals."""
STATUSES = ("running", "finished", "interrupted", "failed")


@dataclass(frozen=True)
class Opened:
    """A run folder whose manifest can be read."""

    path: Path
    manifest: Mapping[str, Any]
    data: bytes
    """The manifest as it is in the file."""
    status: str
    """As the manifest says, or `killed`."""

    @property
    def ended(self) -> bool:
        """Whether all its files are complete."""
        return self.status in ENDED

    @property
    def trained(self) -> bool:
        """Whether it is a run, not a plan."""
        return self.manifest.get("kind") == "run"

    @property
    def by_client(self) -> bool:
        """Whether it has a single server, and staleness.csv a row per client's result."""
        return self.manifest.get("by_client") is True

    @property
    def faulty(self) -> bool:
        """Whether the manifest has faults, be they none so far: there is then a faults.csv."""
        return "faults" in self.manifest

    @property
    def diverging(self) -> bool:
        """Whether there is a divergence.csv, or should be one."""
        noted, count = self.manifest.get("files"), self.manifest.get("diverged")
        said = (isinstance(noted, dict) and "divergence.csv" in noted) or bool(count)
        return self.trained and (said or files.there(self.path / "divergence.csv"))

    @property
    def gaps(self) -> bool:
        """Whether iterations may have no row: nobody contributed to them."""
        return self.faulty or self.manifest.get("algorithm") == "safa"

    def columns(self, name: str) -> tuple[str, ...]:
        """The columns of a table in this very folder."""
        more = {"iterations": ("clients",) * self.faulty, "staleness": ("client",) * self.by_client}
        return (*COLUMNS[name], *more.get(name, ()))

    @property
    def iterations(self) -> int | None:
        """How many iterations the manifest counts."""
        found = self.manifest.get("iterations")
        return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None

    @property
    def names(self) -> list[str]:
        """The files that the folder must have, beside its manifest."""
        tables = ["clients.csv", "iterations.csv", "staleness.csv"]
        tables += [] if self.by_client else ["mixing.csv"]
        tables += ["faults.csv"] if self.faulty else []
        tables += ["divergence.csv"] if self.diverging else []
        tables += ["metrics.csv"] if self.trained else []
        tables += ["servers.csv"] if self.trained and not self.by_client else []
        model = ["model.safetensors"] if self.trained and self.ended else []
        return ["config.toml", "topology.json", *tables, *model]

    @property
    def elsewhere(self) -> str:
        """What is different here from where the run was made, as far as rounding may depend on it; else nothing."""
        there, here = self.manifest.get("versions"), manifest.versions()
        machine = self.manifest.get("machine")
        if not isinstance(there, dict) or not isinstance(machine, dict):
            return ""
        found = [f"{name} {there.get(name)}" for name in ("python", "numpy") if there.get(name) != here.get(name)]
        made_on = machine.get("platform")
        return ", ".join(found + ([] if made_on == platform.platform() else [str(made_on)]))

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario in config.toml."""
        path = self.path / "config.toml"
        try:
            files.small(path, LARGEST_CONFIG)
            return Scenario.load(config=path)
        except (ValueError, RecursionError) as error:
            raise InputError(f"the scenario file {str(path)!r} cannot be read: {error}") from error

    @property
    def about(self) -> str:
        """What it is, in a few words."""
        return clipped(f"{self.manifest['kind']}, {self.status}: {self.manifest['algorithm']}")


def read(path: Path) -> Opened | bytes:
    """The folder; or the bytes of a manifest that is sealed as ours are, but is no JSON any more."""
    if not path.is_dir():
        raise InputError(f"{str(path)!r} is not a run folder: it is no folder at all")
    try:
        data = files.small(path / "manifest.json")
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} is not a run folder: it has no readable manifest.json ({error})") from error
    try:
        found = files.parsed(data)
        return Opened(path, found, data, _status(found))
    except ValueError as error:
        if manifest.SEAL.encode() in data:
            return data
        raise InputError(f"{str(path)!r} is not a run folder: its manifest.json is none ({error})") from error


def _status(found: Any) -> str:
    """The status of a manifest; a ValueError if it is no manifest."""
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    texts = {name: found.get(name) for name in ("status", "kind", "algorithm")}
    if missing := [name for name, value in texts.items() if not isinstance(value, str)]:
        raise ValueError(f"it has no {missing[0]}")
    if found["status"] not in STATUSES or found["kind"] not in ("run", "plan"):
        raise ValueError(f"its status is {found['status']!r} and its kind {found['kind']!r}")
    try:
        return "killed" if manifest.killed(found) else str(found["status"])
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise ValueError("its machine or its process is not as a run writes them") from error
