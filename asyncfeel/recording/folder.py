"""A run's folder as it is written: the world first, then a few rows with every iteration."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.recording import replacing, rows
from asyncfeel.recording.atomic import replace
from asyncfeel.recording.lock import Lock
from asyncfeel.recording.manifest import Manifest, Status, fingerprint
from asyncfeel.recording.servers import ServerRows
from asyncfeel.recording.tables import Table
from asyncfeel.theory import mixing
from asyncfeel.world.federation import Federation
from asyncfeel.world.mishaps import Mishaps
from asyncfeel.world.profiles import Profiles
from asyncfeel.world.records import Completion
from asyncfeel.world.topology import Topology

RARE = ("divergence",)
"""Tables of things that hardly ever happen: there are none without rows."""


class RunFolder:
    """Streams the schedule of a run to its files, as an observer of the federation."""

    def __init__(
        self,
        path: Path,
        config: str,
        topology: Topology,
        profiles: Profiles,
        facts: dict[str, Any],
        known: Mapping[str, int] | None = None,
    ) -> None:
        """With `known` a run goes on here: of each table so many bytes are valid, and the rest is cut off."""
        self.path = path
        self.lock = Lock(path)
        try:
            replace(path / "config.toml", config)
            self.manifest = Manifest(path, facts)
            graph = json.dumps(topology.node_link(), indent=1) + "\n"
            replace(path / "topology.json", graph)
            self._open(topology.servers, profiles, facts, known)
            written = {"config.toml": config, "topology.json": graph}
            digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in written.items()}
            self._world = digests["topology.json"] + self._clients.digest
            digests["clients.csv"] = self._clients.digest
            self._files = {name: fingerprint(path / name, digest) for name, digest in digests.items()}
            self.manifest.note({"files": self._files})
        except BaseException:
            self.lock.release()
            raise

    def _open(self, servers: int, profiles: Profiles, facts: dict[str, Any], known: Mapping[str, int] | None) -> None:
        def table(name: str, more: Sequence[str] = ()) -> Table:
            return Table(self.path, name, more, None if known is None else known.get(name, 0))

        self._rare: dict[str, Table] = {}
        self._make_rare = table
        for name in () if known is None else RARE:
            if known and known.get(name):
                self.rare(name)
            else:
                (self.path / f"{name}.csv").unlink(missing_ok=True)
        self._clients = table("clients")
        for some in rows.clients(profiles):
            self._clients.append(some)
        self._by_client, trained = bool(facts["by_client"]), facts["kind"] == "run"
        self._faults = table("faults") if "faults" in facts else None
        self._iterations = table("iterations", ["clients"] if self._faults else [])
        self._staleness = table("staleness", ["client"] if self._by_client else [])
        self._rows = rows.StalenessRows(servers)
        self._mixing = None if self._by_client else table("mixing")
        self.metrics = table("metrics") if trained else None
        self.servers = ServerRows(table("servers")) if trained and not self._by_client else None

    @property
    def _tables(self) -> dict[str, Table]:
        found = {
            "clients": self._clients,
            "iterations": self._iterations,
            "staleness": self._staleness,
            "mixing": self._mixing,
            "faults": self._faults,
            "metrics": self.metrics,
            "servers": self.servers and self.servers.table,
        }
        return {name: table for name, table in found.items() if table} | self._rare

    def rare(self, name: str) -> Table:
        """A table that is there only if it has rows."""
        if name not in self._rare:
            self._rare[name] = self._make_rare(name)
        return self._rare[name]

    def sync(self) -> dict[str, tuple[int, str]]:
        """Have all tables on the disk itself; the size and the digest of each."""
        return {name: table.sync() for name, table in self._tables.items()}

    def changing(self, federation: Federation) -> None:
        """Nothing: what is recorded is the completed iteration."""

    def completed(self, federation: Federation, completion: Completion) -> None:
        """Append the rows of an iteration to iterations.csv, staleness.csv and mixing.csv."""
        k, time_s = completion.iteration, completion.time_s
        for trigger in completion.triggers:
            own = completion.staleness[trigger.server]
            row = (k, time_s, trigger.server, trigger.started_s, trigger.deadline_s, *trigger.spread, own)
            self._iterations.write([(*row, len(trigger.steps)) if self._faults else row])
            if self._by_client:
                continue
            weights = completion.mixing.get(trigger.server, {trigger.server: 1.0})
            self._staleness.append(self._rows.text(k, time_s, trigger.server, completion.staleness, weights))
        if self._mixing:
            self._mixing.write((k, *entry) for entry in mixing.entries(completion.mixing))
        else:
            self._staleness.write((k, time_s, 0, 0, one.staleness, one.weight, one.client) for one in completion.merged)

    def failed(self, iteration: int, mishaps: Sequence[Mishaps]) -> None:
        """Append what went wrong to faults.csv, in the order of time."""
        if self._faults:
            self._faults.append(rows.faults(iteration, mishaps))

    def caught_up(self) -> None:
        """An error unless all that is known of the tables has been repeated."""
        for name, table in self._tables.items():
            if table.behind:
                raise InputError(f"{name}.csv in {str(self.path)!r} has rows that a replay of this run does not give")

    def digests(self) -> dict[str, str]:
        """What two runs must share to be a paired comparison (schedule), and to mix alike (mixing)."""
        schedule = self._world + self._iterations.digest
        weights = self._staleness.digest + (self._mixing.digest if self._mixing else "")
        found = {
            name: hashlib.sha256(text.encode()).hexdigest()
            for name, text in [("schedule", schedule), ("mixing", weights)]
        }
        return found | ({"faults": self._faults.digest} if self._faults else {})

    def close(self) -> None:
        """Close every table, and have what was written noted in the manifest."""
        if self.servers:
            self.servers.close()
        for name, table in self._tables.items():
            table.close()
            self._files[f"{name}.csv"] = fingerprint(self.path / f"{name}.csv", table.digest)
        self.manifest.note({"files": self._files})

    def finish(self, status: Status, facts: dict[str, Any]) -> None:
        """Close every table, write down how the run ended, and let others use the folder."""
        try:
            self.close()
            self.manifest.close(status, facts)
        finally:
            self.lock.release()


def create(out: Path | None, name: str, force: bool = False) -> Path:
    """A new, empty folder: the one asked for, or runs/<name>, numbered where that exists.

    With `force` it may be that of an ended run, which is removed.
    """
    name = replacing.plain(name)
    if force:
        out = out or Path("runs") / name
        replacing.clear(out)
    if out is not None:
        if out == Path():
            raise InputError("--out is empty, or this very folder: name a folder of its own for the run")
        return _make(out)
    for number in range(1, 100_000):
        path = Path("runs") / (name if number == 1 else f"{name}-{number}")
        if not path.exists():
            return _make(path)
    raise InputError(f"there are 100,000 runs called {name!r} already: clear the folder 'runs'")


def _make(path: Path) -> Path:
    try:
        if path.is_dir() and any(path.iterdir()):
            raise InputError(
                f"the folder {str(path)!r} is not empty: runs are not overwritten; choose another --out, or --force"
            )
        str(path).encode()
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(f"the folder {str(path)!r} cannot be made: {safe_files.reason(error)}") from error
    return path
