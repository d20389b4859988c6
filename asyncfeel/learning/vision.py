"""torchvision, made importable beside a CPU-only torch.

The torchvision wheel on PyPI carries operators compiled for another torch; where they cannot be
loaded, its import fails because two operators are unknown. asyncfeel uses only torchvision's
Python parts, so it is enough that the two operators have a name.
"""

import functools
import importlib
from types import ModuleType

import torch

OPERATORS = ("nms", "qnms")
SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def torchvision(part: str) -> ModuleType:
    """The module `torchvision.<part>`; an ImportError if torchvision is not installed."""
    try:
        return importlib.import_module(f"torchvision.{part}")
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
    _name_operators()
    return importlib.import_module(f"torchvision.{part}")


@functools.cache
def _name_operators() -> torch.library.Library:
    """The library that names the operators; cached because the names live as long as it does."""
    library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for operator in OPERATORS:
        library.define(operator + SIGNATURE)  # type: ignore[no-untyped-call]
    return library
