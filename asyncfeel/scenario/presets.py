"""Presets: named scenarios, each a TOML file of this package whose first comment describes it."""

from pathlib import Path
from typing import Any

from asyncfeel.errors import InputError
from asyncfeel.scenario import text

FOLDER = Path(__file__).parent.parent / "presets"


def names() -> dict[str, str]:
    """The presets with their descriptions."""
    return {path.stem: _description(path) for path in sorted(FOLDER.glob("*.toml"))}


def _description(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def read(name: Any) -> dict[str, Any]:
    """The table of a preset."""
    if not isinstance(name, str) or name not in names():
        raise InputError(f"preset {name!r} is unknown: there are {', '.join(names())}")
    return text.read(FOLDER / f"{name}.toml")
