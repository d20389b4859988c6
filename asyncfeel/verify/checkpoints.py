"""checkpoints/: is every file in it a whole checkpoint, from which the run could go on?"""

from pathlib import Path

from asyncfeel.errors import InputError
from asyncfeel.resuming import files
from asyncfeel.verify.findings import Check


def check(folder: Path) -> list[Check]:
    """Whether the digest of each checkpoint fits its models and its state; nothing where there are none."""
    found = Check("checkpoints", "files")
    for path in files.found(folder):
        try:
            files.read(path)
        except InputError as error:
            found.differ(f"{files.FOLDER}/{path.name}", str(error))
        found.rows += 1
    return [found] if found.rows else []
