"""What there is to choose from: every kind of plug-in that a scenario names, and where it lives.

Names and descriptions are read from the source files, so that listing them imports neither torch
nor numpy; `find` imports the one that is used.
"""

import ast
import importlib
from collections.abc import Callable
from itertools import pairwise
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
    "availability": "world.availability",
    "server_outages": "world.outages",
    "link_outages": "world.outages",
    "dataset": "learning.datasets.builtin",
    "split": "learning.partition",
    "model": "learning.models",
}
_FILES = {"algorithm": "algorithms", "executor": "learning.executors"}
_AUTO = {
    "split": "The data's own clients where they have any, else dirichlet, or bootstrap for too many clients.",
    "model": "What is usual for the data: cnn for images, logistic for features, point for quadratic.",
}
LISTED = (
    "algorithm",
    "topology",
    "psi",
    "dataset",
    "split",
    "model",
    "speeds",
    "drift",
    "fading",
    "availability",
    "server_outages",
    "link_outages",
    "executor",
    "preset",
)
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
    if what == "dataset":
        return found
    auto = {"auto": _AUTO[what]} if what in _AUTO else {}
    return auto | {plugins.kebab(name): text for name, text in found.items()}


def find(what: str, kind: str) -> Callable[..., Any]:
    """The function, or the class, that makes the thing of this kind."""
    if ":" in kind:
        return plugins.load(what, kind)
    if what == "dataset":
        kind = plugins.snake(kind)
    if kind not in names(what):
        raise plugins.unknown(what, kind, names(what))
    if what in _FILES:
        module = importlib.import_module(f"asyncfeel.{_FILES[what]}.{plugins.snake(kind)}")
        name = "".join(word.capitalize() for word in plugins.snake(kind).split("_"))
    else:
        module, name = importlib.import_module(f"asyncfeel.{_FUNCTIONS[what]}"), plugins.snake(kind)
    found: Callable[..., Any] = getattr(module, name)
    return found


def option_meanings(what: str, kind: str) -> dict[str, str]:
    """What the options of an algorithm mean: the texts below its fields."""
    if what != "algorithm" or kind not in names(what):
        return {}
    tree = ast.parse((_ROOT / "algorithms" / f"{plugins.snake(kind)}.py").read_text(encoding="utf-8"))
    fields = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)][-1].body
    return {
        field.target.id: str(text.value.value)
        for field, text in pairwise(fields)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }
