"""Asynchronous federated learning at the edge, simulated on a clock of its own and trained for real.

The public names are below; everything heavy is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

from asyncfeel.errors import AsyncFeelError, InputError

if TYPE_CHECKING:
    from asyncfeel.learning.datasets.values import Dataset
    from asyncfeel.result import Result
    from asyncfeel.scenario import Scenario
    from asyncfeel.simulation import run

__version__ = "0.1.0"
__all__ = ["AsyncFeelError", "Dataset", "InputError", "Result", "Scenario", "run"]

_HOMES = {
    "Dataset": "asyncfeel.learning.datasets.values",
    "Result": "asyncfeel.result",
    "Scenario": "asyncfeel.scenario",
    "run": "asyncfeel.simulation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'asyncfeel' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
