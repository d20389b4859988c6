"""Replacing a run: its own files are removed, and nothing else ever is."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.recording import manifest

OWN = (
    *("config.toml", "manifest.json", "topology.json", "*.csv", "*.safetensors", "*.part", ".lock"),
    *("report.html", "timeline.json", "events.out.tfevents.*"),
)
"""What commands of asyncfeel write into a run folder, and into those within it."""
WITHIN = ("checkpoints", "tensorboard")
LONGEST = 100
"""Characters of a folder's name that is made of kinds."""


def clear(folder: Path) -> None:
    """Empty the folder of a run that has ended; an error if anything in it is not asyncfeel's own."""
    try:
        entries = sorted(folder.iterdir()) if folder.is_dir() else []
    except (OSError, ValueError) as error:
        raise InputError(f"the folder {str(folder)!r} cannot be read: {safe_files.reason(error)}") from error
    if not entries:
        return
    _check_ended(folder)
    files, folders = _sorted(entries)
    inner, deeper = _sorted([file for one in folders for file in sorted(one.iterdir())])
    for entry in [*files, *inner, *folders, *deeper]:
        foreign = entry in deeper or not any(fnmatchcase(entry.name, name) for name in OWN)
        if foreign and not (entry in folders and entry.name in WITHIN):
            raise InputError(
                f"{str(entry)!r} is not a file of a run, so --force leaves all as it is: move it away first"
            )
    for entry in [*inner, *sorted(files, key=lambda entry: entry.name == "manifest.json")]:
        entry.unlink(missing_ok=True)
    for entry in folders:
        entry.rmdir()


def _sorted(entries: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The files, and the folders that are no links."""
    folders = [entry for entry in entries if entry.is_dir() and not entry.is_symlink()]
    return [entry for entry in entries if entry not in folders], folders


def _check_ended(folder: Path) -> None:
    """An error unless a run of asyncfeel is there that nobody is working on."""
    try:
        found = manifest.read(folder)
    except InputError as error:
        raise InputError(f"--force replaces runs only, and {error}: choose another --out") from error
    if not {"status", "kind", "versions", "seed"} <= found.keys():
        raise InputError(f"--force replaces runs only, and {str(folder)!r} is none: choose another --out")
    if found["status"] == "running":
        host = found.get("machine", {}).get("host")
        raise InputError(
            f"the run {str(folder)!r} is going on in process {found.get('process')} of {host}: wait for its end, or "
            "choose another --out"
        )


def plain(name: str) -> str:
    """A name as that of a folder beside others: no separators, nothing unprintable, not too long.

    >>> plain("fedavg-../x-inverse"), plain("..")
    ('fedavg-..-x-inverse', 'run')
    """
    return re.sub(r"[^\w.,=+-]+", "-", name)[:LONGEST].strip("-.,") or "run"
