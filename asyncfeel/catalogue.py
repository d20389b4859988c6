"""What there is to choose from: every kind of plug-in that a scenario names, and where it lives.

Names and descriptions are read from the source files, so that listing them imports neither torch
nor numpy; `find` imports the one that is used.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asyncfeel import plugins
from asyncfeel.scenario import presets

_ROOT = Path(__file__).parent
_FUNCTIONS = {
    "psi": "theory.staleness",
    "speeds": "world.speeds",
    "drift": "world.variation",
    "fading": "world.variation",
    "dataset": "learning.datasets.builtin",
    "split": "learning.partition",
    "model": "learning.models",
}
_FILES = {"algorithm": "algorithms", "executor": "learning.executors"}
LISTED = ("algorithm", "topology", "psi", "dataset", "split", "model", "speeds", "drift", "executor", "preset")
"""What `asyncfeel list` shows, in this order."""


def names(what: str) -> dict[str, str]:
    """The built-in kinds with their one-line descriptions."""
    if what == "preset":
        return presets.names()
    if what == "topology":
        from asyncfeel.world import maps

        return maps.names()
    if what in _FILES:
        found = plugins.in_folder(_ROOT / _FILES[what].replace(".", "/"))
    else:
        found = plugins.in_module(_ROOT / (_FUNCTIONS[what].replace(".", "/") + ".py"))
    return found if what == "dataset" else {plugins.kebab(name): text for name, text in found.items()}


def find(what: str, kind: str) -> Callable[..., Any]:
    """The function, or the class, that makes the thing of this kind."""
    if ":" in kind:
        return plugins.load(what, kind)
    if kind not in names(what):
        raise plugins.unknown(what, kind, names(what))
    if what in _FILES:
        module = importlib.import_module(f"asyncfeel.{_FILES[what]}.{plugins.snake(kind)}")
        name = "".join(word.capitalize() for word in plugins.snake(kind).split("_"))
    else:
        module, name = importlib.import_module(f"asyncfeel.{_FUNCTIONS[what]}"), plugins.snake(kind)
    found: Callable[..., Any] = getattr(module, name)
    return found
