"""A table of a run folder in another format: what `asyncfeel export` does."""

from pathlib import Path

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.recording import manifest
from asyncfeel.report import dense, formats, recorded, streaming

TABLES = ("staleness", "mixing", "metrics", "iterations", "clients", "servers", "faults")


def export(
    folder: Path,
    what: str,
    format: str | None = None,
    out: Path | None = None,
    *,
    wide: bool = False,
    force: bool = False,
) -> Path:
    """Write a table of a run, and give the path of the file.

    The format is the one that is named, or else the ending of `out`, or else csv. Mixing matrices become
    a dense stack as npz and their sparse entries otherwise.
    """
    kind = _format(format, out)
    found = manifest.read(folder)
    _check(folder, what, wide, bool(found.get("by_client")))
    if kind == "parquet":
        formats.pyarrow()
    path = out or Path(f"{folder.resolve().name}-{what}{'-wide' if wide else ''}.{kind}")
    _check_target(path, folder, force)
    draft = path.with_name(f"{path.name}.part")
    try:
        with safe_files.damaged(f"the run {str(folder)!r}"):
            if what == "mixing" and kind == "npz":
                dense.write(draft, folder, _servers(folder), str(found.get("status")))
            else:
                table = streaming.read(folder, what)
                formats.WRITERS[kind](draft, streaming.wide(table, _servers(folder)) if wide else table)
        draft.replace(path)
    except OSError as error:
        raise InputError(f"the file {str(path)!r} cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    return path


def _format(format: str | None, out: Path | None) -> str:
    ending = out.suffix.removeprefix(".") if out else ""
    kind = format or (ending if ending in formats.WRITERS else "csv")
    if kind not in formats.WRITERS:
        raise InputError(f"the format {kind!r} is unknown: choose {', '.join(formats.WRITERS)}")
    return kind


def _check(folder: Path, what: str, wide: bool, by_client: bool) -> None:
    if what not in TABLES:
        raise InputError(f"there is nothing to export as {what!r}: choose {', '.join(TABLES)}")
    if not (folder / f"{what}.csv").is_file():
        there = [name for name in TABLES if (folder / f"{name}.csv").is_file()]
        raise InputError(f"{str(folder)!r} has no {what}.csv: it has {', '.join(there) or 'no tables'}")
    if wide and what != "staleness":
        raise InputError(f"--wide is for staleness, which has a row per server, and not for {what}: leave it out")
    if wide and by_client:
        raise InputError(f"--wide: {str(folder)!r} is of a system with a single server, so there are no columns for it")


def _check_target(path: Path, folder: Path, force: bool) -> None:
    """An error if something is in the way; a file of the run itself is never overwritten."""
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: name a file")
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} of {path.name!r} does not exist: make it first")
    if path.exists() and path.resolve().parent == folder.resolve():
        raise InputError(f"the file {str(path)!r} belongs to the run folder: choose another --out")
    if path.exists() and not force:
        raise InputError(f"the file {str(path)!r} exists: choose another --out, or --force")


def _servers(folder: Path) -> int:
    """The number of servers: the nodes of the recorded graph."""
    return len(recorded.graph(folder))
