"""Where topologies are found: the files of a folder, the user's own first; no graph is drawn here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from asyncfeel import plugins, safe_files
from asyncfeel.errors import InputError

_PACKAGED = Path(__file__).parent.parent / "topologies"
_CHECKOUT = Path(__file__).parent.parent.parent / "topologies"
_MAPS = (".json", ".graphml")


def folders() -> list[Path]:
    """Where topologies are looked for: the user's folder first, then asyncfeel's own."""
    own = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    user = Path("topologies")
    return [user, own] if user.is_dir() and user.resolve() != own.resolve() else [own]


def names() -> dict[str, str]:
    """Every topology there is, with its description."""
    found: dict[str, str] = {}
    for folder in reversed(folders()):
        found |= {plugins.kebab(name): text for name, text in plugins.in_folder(folder).items()}
        found |= {path.stem: f"The map in {path.name}." for path in sorted(folder.iterdir()) if path.suffix in _MAPS}
    return dict(sorted(found.items()))


def find(kind: str) -> Callable[..., Any] | Path:
    """The function of a topology, or the path of its map."""
    if Path(kind).suffix in _MAPS:
        for path in [Path(kind), *(folder / kind for folder in folders())]:
            if safe_files.is_file(path):
                return path
        raise InputError(f"topology {kind!r}: there is no such file")
    if ":" in kind:
        return plugins.load("topology", kind)
    for folder in folders() if "/" not in kind else []:
        source = folder / f"{plugins.snake(kind)}.py"
        if kind == plugins.kebab(plugins.snake(kind)) and safe_files.is_file(source):
            return plugins.load("topology", f"{source}:{plugins.snake(kind)}")
        maps = [path for suffix in _MAPS if safe_files.is_file(path := folder / f"{kind}{suffix}")]
        if maps:
            return maps[0]
    raise plugins.unknown("topology", kind, names())
