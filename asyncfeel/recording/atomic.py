"""Files that are replaced as a whole: a reader, or whoever comes after a crash, never sees half of one."""

import os
from pathlib import Path

from asyncfeel.errors import Unrecorded

PART = ".part"
"""How the name of a file ends that is not complete yet."""


def replace(path: Path, text: str) -> None:
    """Write the file anew; the old one stays until the new one is complete."""
    draft = path.with_name(path.name + PART)
    try:
        draft.write_text(text, encoding="utf-8")
        settle(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise Unrecorded(f"{str(path)!r} cannot be written: {error.strerror}") from error


def settle(draft: Path, path: Path) -> None:
    """Put a complete draft in place of a file, on the disk itself."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(path)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
