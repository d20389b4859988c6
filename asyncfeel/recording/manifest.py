"""The manifest: who made a run, with what, how far it got, and its digests."""

import json
import math
import os
import platform
import socket
import time
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.recording import facts

Status = Literal["running", "finished", "interrupted", "failed"]


class Manifest:
    """A JSON file that is replaced as a whole, so that a reader never sees half of it."""

    def __init__(self, folder: Path, told: dict[str, Any]) -> None:
        self._path = folder / "manifest.json"
        self._started = time.perf_counter()
        self._data: dict[str, Any] = {
            "status": "running",
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "machine": {"host": socket.gethostname(), "platform": platform.platform(), "cores": os.cpu_count()},
            "process": os.getpid(),
            **told,
        }
        self._write()

    def close(self, status: Status, told: dict[str, Any]) -> None:
        """Record how the run ended."""
        self._data |= told | {"status": status}
        wall = self._data.get("wall", {})
        self._data["wall"] = {**wall, "total_s": wall.get("setup_s", 0.0) + time.perf_counter() - self._started}
        self._write()

    def _write(self) -> None:
        draft = self._path.with_suffix(".json.part")
        draft.write_text(json.dumps(strict(self._data), indent=2) + "\n", encoding="utf-8")
        draft.replace(self._path)


def strict(value: Any) -> Any:
    """The value with null in place of numbers that JSON does not know."""
    if isinstance(value, dict):
        return {key: strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that a number may depend on."""
    found = {"python": platform.python_version()}
    for package in ("asyncfeel", "simpy", "numpy", "networkx", "torch", "torchvision"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def read(folder: Path) -> dict[str, Any]:
    """The manifest of a run; a run that says it is running although its process is gone was killed."""
    path = folder / "manifest.json"
    if not os.path.lexists(path):
        raise InputError(f"{str(folder)!r} is not a run folder: it has no manifest.json")
    try:
        data = facts.check(safe_files.load_json(path, "the manifest"))
    except (InputError, ValueError) as error:
        raise InputError(f"the manifest of {str(folder)!r} cannot be read: {error}") from error
    here = data.get("machine", {}).get("host") == socket.gethostname()
    if data.get("status") == "running" and here and not _alive(facts.process(data)):
        data["status"] = "killed"
    return data


def _alive(process: int) -> bool:
    if not process:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
