"""The manifest: who made a run, with what, how far it got, and its digests."""

import hashlib
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
from asyncfeel.recording.atomic import replace

Status = Literal["running", "finished", "interrupted", "failed"]
SEAL = ',\n  "seal": "'
"""How the last key of a manifest begins."""


class Manifest:
    """A JSON file that is replaced as a whole, so that a reader never sees half of it."""

    def __init__(self, folder: Path, told: dict[str, Any]) -> None:
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
            **told,
        }
        self._write()

    def close(self, status: Status, told: dict[str, Any]) -> None:
        """Record how the run ended."""
        self._data |= told | {"status": status}
        wall = self._data.get("wall", {})
        self._data["wall"] = {**wall, "total_s": wall.get("setup_s", 0.0) + time.perf_counter() - self._started}
        self._write()

    def note(self, facts: dict[str, Any]) -> None:
        """Add facts that hold from now on."""
        self._data |= facts
        self._write()

    def _write(self) -> None:
        replace(self._path, sealed(json.dumps(strict(self._data), indent=2)))


def _before(path: Path) -> dict[str, Any]:
    """What a manifest that is there already says; nothing if it says nothing."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("resumed", []), list) else {}


def sealed(text: str) -> str:
    """The JSON object with a last key: the SHA-256 of all that stands before it."""
    body = text.rstrip().removesuffix("}").rstrip()
    return f'{body}{SEAL}{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n'


def seal(data: bytes) -> str | None:
    """Whether the seal of a manifest's bytes is missing or broken, in words; nothing if it is whole."""
    body, mark, rest = data.rpartition(SEAL.encode())
    if not mark:
        return "it has no seal"
    whole = rest == f'{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()
    return None if whole else "its seal is broken: it is not as the run left it"


def fingerprint(path: Path, digest: str) -> dict[str, Any]:
    """What is noted of a file: its size, and the SHA-256 of what was written to it."""
    return {"bytes": path.stat().st_size if path.is_file() else None, "sha256": digest}


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
    if killed(data):
        data["status"] = "killed"
    return data


def killed(data: dict[str, Any]) -> bool:
    """Whether the manifest says that the run goes on, although its process on this machine is gone."""
    here = data.get("machine", {}).get("host") == socket.gethostname()
    return data.get("status") == "running" and here and not _alive(facts.process(data))


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
