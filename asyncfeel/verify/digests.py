"""Digests: is every file, to the last byte, what the run wrote?"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asyncfeel.recording import manifest
from asyncfeel.verify import files
from asyncfeel.verify.findings import Check
from asyncfeel.verify.opening import Opened

EARLY = ("config.toml", "topology.json", "clients.csv")
"""The files whose digests are known from the start of a run."""
RARE = ("faults.csv", "divergence.csv")
"""The files of a run in which something went wrong, and of no other."""


def seal(data: bytes) -> Check:
    """Whether the manifest is as the run left it."""
    check = Check("manifest.json", "seal", 1)
    if broken := manifest.seal(data):
        check.differ("manifest.json", broken)
    return check


def contents(opened: Opened) -> Check:
    """Whether the files are there and have the digests that the manifest noted."""
    check = Check("digests", "files")
    noted = opened.manifest.get("files")
    noted = noted if isinstance(noted, dict) else {}
    waiting = []
    more = [name for name in noted if name not in opened.names and Path(name).name == name]
    for name in [*opened.names, *more]:
        path = opened.path / name
        if not files.there(path):
            check.differ(name, "there is no such file")
        elif name == "model.safetensors":
            _model(check, path, opened.manifest.get("digests"))
        elif name in noted:
            _file(check, path, noted[name])
        elif opened.status in ("running", "killed") and name not in EARLY:
            waiting.append(name)
        else:
            check.differ(name, "the manifest has no digest of it")
    for name in RARE:
        if opened.ended and name not in [*opened.names, *more] and files.there(opened.path / name):
            check.differ(name, "the run left no such file")
    if waiting:
        check.note = f"none yet of {', '.join(waiting)}"
    if opened.ended and check.ok:
        _combined(check, noted, opened.manifest.get("digests"), opened.by_client)
    return check


def genuine(opened: Opened, name: str) -> bool:
    """Whether a file has the digest that the manifest noted: one that has not is no ground for anything."""
    noted = opened.manifest.get("files")
    check = Check("")
    if not isinstance(noted, dict) or not files.there(opened.path / name):
        return False
    _file(check, opened.path / name, noted.get(name))
    return check.ok


def _file(check: Check, path: Path, noted: Any) -> None:
    noted = noted if isinstance(noted, dict) else {}
    size = path.stat().st_size
    if size != noted.get("bytes"):
        check.compare(path.name, f"{size} bytes", noted.get("bytes"))
    elif files.digest(path) != noted.get("sha256"):
        check.differ(path.name, "its digest is not the one in the manifest: its content was changed")
    check.rows += 1


def _model(check: Check, path: Path, noted: Any) -> None:
    wanted = noted.get("model") if isinstance(noted, dict) else None
    if files.digest(path) != wanted:
        check.differ(path.name, "its digest is not the one in the manifest: its content was changed")
    check.rows += 1


def _combined(check: Check, noted: Mapping[str, Any], digests: Any, by_client: bool) -> None:
    """The digests of schedule and mixing, which are made of those of the files."""
    groups = {
        "schedule": ["topology.json", "clients.csv", "iterations.csv"],
        "mixing": ["staleness.csv", *([] if by_client else ["mixing.csv"])],
    }
    digests = digests if isinstance(digests, dict) else {}
    for name, members in groups.items():
        text = "".join(str(noted[member]["sha256"]) for member in members)
        if hashlib.sha256(text.encode()).hexdigest() != digests.get(name):
            check.compare("manifest.json", digests.get(name), "what the files' digests make", None, f"digests.{name}")
    faults = noted["faults.csv"]["sha256"] if "faults.csv" in noted else None
    if faults != digests.get("faults"):
        check.compare("manifest.json", digests.get("faults"), faults, None, "digests.faults")
