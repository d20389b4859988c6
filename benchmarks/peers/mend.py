"""Makes torchvision importable beside a torch without CUDA, for the simulators that import it; import this first.

The torchvision of PyPI carries operators compiled for another build of torch. Where they cannot be loaded, its
import fails because two operators are unknown. Nobody here calls them: it is enough that they have a name.
"""

import importlib

import torch


def _torchvision() -> torch.library.Library | None:
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        return library
    return None


NAMES = _torchvision()
"""The library that names the operators, if they need one: the names live as long as it does."""
