"""A comparison's folder: what was asked for, a run folder each, and two tables."""

import csv
import io
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asyncfeel.compare import request as requests
from asyncfeel.compare.request import Request, Run
from asyncfeel.compare.table import Row
from asyncfeel.compare.variants import short
from asyncfeel.errors import InputError
from asyncfeel.recording import manifest
from asyncfeel.scenario import text
from asyncfeel.scenario.build import as_table


def holds_comparison(folder: Path) -> bool:
    """Whether there is a comparison to go on with."""
    return (folder / requests.NAME).is_file()


def create(out: Path | None, request: Request) -> Path:
    """The folder with its comparison.toml: the one asked for, or a new one under comparisons/."""
    path = out or _new("-".join(short(key) for key in request.axes) or "seeds")
    if holds_comparison(path):
        _refuse_another(request, path)
    elif path.is_dir() and any(path.iterdir()):
        raise InputError(f"the folder {str(path)!r} is not empty and holds no comparison: choose another --out")
    try:
        path.mkdir(parents=True, exist_ok=True)
        replace(path / requests.NAME, requests.write(request))
    except OSError as error:
        raise InputError(f"the folder {str(path)!r} cannot be made: {error.strerror}") from error
    return path


def _refuse_another(request: Request, folder: Path) -> None:
    """Other runs in the same folder would make a table of two experiments."""
    if found := request.differences(requests.read(folder)):
        raise InputError(
            f"the folder {str(folder)!r} holds another comparison, which differs in {' and '.join(found)}: choose "
            "another --out, or give --out alone to go on with what it holds"
        )


def _new(name: str) -> Path:
    for number in range(1, 100_000):
        path = Path("comparisons") / (name if number == 1 else f"{name}-{number}")
        if not path.exists():
            return path
    raise InputError(f"there are 100,000 comparisons called {name!r} already: clear the folder 'comparisons'")


def replace(path: Path, content: str) -> None:
    """Write a file as a whole, so that a reader never sees half of it."""
    draft = path.with_name(f"{path.name}.part")
    draft.write_text(content, encoding="utf-8")
    draft.replace(path)


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as CSV; what is not known is left blank, and floats keep every digit."""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    replace(path, lines.getvalue())


def is_finished(run: Run, folder: Path) -> bool:
    """Whether the folder holds this very run, finished.

    A run under way elsewhere, or a finished run of another scenario, is an error: neither may be removed.
    """
    try:
        found = manifest.read(folder)
    except InputError:
        return False
    if found.get("status") == "running" and found.get("process") != os.getpid():
        raise InputError(
            f"the run {str(folder)!r} is going on in process {found.get('process')} of "
            f"{found.get('machine', {}).get('host')}: wait for its end, or remove the folder if it was killed"
        )
    if found.get("status") != "finished":
        return False
    if not agrees(as_table(run.scenario), text.read(folder / "config.toml")):
        raise InputError(f"the run {str(folder)!r} is that of another scenario: move it away, or choose another --out")
    return True


def clear(folder: Path) -> None:
    """Remove what an unfinished run left; a folder that is no run's stays as it is."""
    if any((folder / name).is_file() for name in ("manifest.json", "manifest.json.part")):
        shutil.rmtree(folder)


def agrees(asked: Any, resolved: Any) -> bool:
    """Whether a run's complete scenario is what was asked for, with numbers in place of words.

    >>> agrees({"model_bits": "model", "kind": "auto"}, {"model_bits": 32.0, "kind": "cnn", "width": 8})
    True
    """
    if isinstance(asked, dict):
        return isinstance(resolved, dict) and all(
            key in resolved and agrees(value, resolved[key]) for key, value in asked.items()
        )
    word = isinstance(asked, str) and (asked == "auto" or isinstance(resolved, float))
    return word or bool(asked == resolved)
