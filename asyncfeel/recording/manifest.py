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

from asyncfeel.recording.atomic import replace

Status = Literal["running", "finished", "interrupted", "failed"]


class Manifest:
    """A JSON file that is replaced as a whole, so that a reader never sees half of it."""

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        """What the folder's manifest says of its first start is kept."""
        self._path = folder / "manifest.json"
        now = datetime.now(UTC).isoformat(timespec="seconds")
        before = _before(self._path)
        self._started = time.perf_counter()
        self._data: dict[str, Any] = {
            "status": "running",
            "started": before.get("started", now),
            **({"resumed": [*before.get("resumed", []), now]} if before else {}),
            "versions": versions(),
            "machine": {"host": socket.gethostname(), "platform": platform.platform(), "cores": os.cpu_count()},
            "process": os.getpid(),
            **facts,
        }
        self._write()

    def close(self, status: Status, facts: dict[str, Any]) -> None:
        """Record how the run ended."""
        self._data |= facts | {"status": status}
        wall = self._data.get("wall", {})
        self._data["wall"] = {**wall, "total_s": wall.get("setup_s", 0.0) + time.perf_counter() - self._started}
        self._write()

    def _write(self) -> None:
        replace(self._path, json.dumps(strict(self._data), indent=2) + "\n")


def _before(path: Path) -> dict[str, Any]:
    """What a manifest that is there already says; nothing if it says nothing."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("resumed", []), list) else {}


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
    data: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    if not isinstance(data, dict) or not isinstance(data.get("machine", {}), dict):
        raise ValueError("it is not the manifest of a run")
    here = data.get("machine", {}).get("host") == socket.gethostname()
    if data.get("status") == "running" and here and not _alive(int(data.get("process", 0))):
        data["status"] = "killed"
    return data


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
