"""The layers that a network applies one after another, found by following a stand-in for its inputs.

`nn.Sequential` says what it does, other networks say it in the code of `forward`. That code is run once, by
torch.fx, on something that notes what is done with it. Nothing is guessed: a network that does anything else than
to hand one tensor from layer to layer, or whose code computes something beside that, has no such list.
"""

import copy
import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from asyncfeel.learning.quick.modules import hooked

Layers = list[str | nn.Module]
"""Layers in their order: those of the network by name, and what its code does beside them as layers without weights."""
Target = str | Callable[..., Any]


def unrolled(module: nn.Module, example: Tensor) -> Layers | None:
    """The layers whose outputs are the next one's inputs; nothing if the network is no chain.

    The example is a batch of any inputs, on which the layers must give what the network gives. Nothing else may use
    modules meanwhile, in any thread: torch.fx has all of them followed.
    """
    module = copy.deepcopy(module).train()
    if any(hooked(part) for part in module.modules()):
        return None
    try:
        with NothingElse():
            graph = Follower().trace(module)
        layers = _layers(graph)
        return layers if layers is not None and _alike(module, layers, example) else None
    except Exception:  # whatever code of a user's own raises when it is given a stand-in
        return None


def applied(module: nn.Module, layers: Layers) -> list[nn.Module]:
    """The layers themselves, of this network or a copy of it."""
    return [module.get_submodule(layer) if isinstance(layer, str) else layer for layer in layers]


class NothingElse(TorchFunctionMode):
    """Forbids to compute anything with tensors themselves: it would be done once, and never again."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """An error unless a stand-in takes part."""
        if any(isinstance(value, fx.Proxy) for value in (*args, *(kwargs or {}).values())):
            return function(*args, **(kwargs or {}))
        raise TypeError(f"{function} is called on something else than the inputs")


class Follower(fx.Tracer):
    """Follows the inputs into modules of a user's own, and not into layers of torch's."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether what goes on inside is of no interest."""
        return isinstance(m, nn.Conv2d) or super().is_leaf_module(m, module_qualified_name)


def _layers(graph: fx.Graph) -> Layers | None:
    """The layers of a graph that is a chain."""
    sizes = {node for node in graph.nodes if _is_size(node)}
    chain = [node for node in graph.nodes if node not in sizes]
    if [chain[0].op, chain[-1].op] != ["placeholder", "output"]:
        return None
    if any(set(after.all_input_nodes) - sizes != {before} for before, after in pairwise(chain)):
        return None
    layers = [_layer(node, sizes) for node in chain[1:-1]]
    return None if None in layers else [layer for layer in layers if layer is not None]


def _is_size(node: fx.Node) -> bool:
    """Whether it only asks how many samples there are."""
    if (node.op, node.target) == ("call_method", "size"):
        return list(node.args[1:]) in ([], [0]) and not node.kwargs
    if node.op == "call_function" and node.target is getattr:
        return bool(node.args[1] == "shape")
    return node.op == "call_function" and node.target is operator.getitem and bool(node.args[1] == 0)


def _layer(node: fx.Node, sizes: set[fx.Node]) -> str | nn.Module | None:
    """The layer that a node of a graph stands for."""
    if node.op == "call_module":
        return str(node.target)
    make = LAYERS.get(node.target) if node.op in ("call_function", "call_method") else None
    if make is None:
        return None
    return make(*[SAMPLES if arg in sizes else arg for arg in node.args[1:]], **node.kwargs)


SAMPLES = object()
"""Stands for the number of samples where that is an argument."""


def _rectifier(inplace: bool = False) -> nn.Module:
    return nn.ReLU()


def _flattening(start_dim: int = 0, end_dim: int = -1) -> nn.Module | None:
    return nn.Flatten() if (start_dim, end_dim) == (1, -1) else None


def _rows(*shape: Any) -> nn.Module | None:
    """Samples as rows, which is the only other shape that there is a layer for."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    if len(sizes) == 2 and (sizes[0] is SAMPLES or sizes[0] == -1):
        return nn.Flatten()
    return None


LAYERS: dict[Target, Callable[..., nn.Module | None]] = {
    torch.relu: _rectifier,
    functional.relu: _rectifier,
    "relu": _rectifier,
    torch.tanh: nn.Tanh,
    torch.sigmoid: nn.Sigmoid,
    functional.max_pool2d: nn.MaxPool2d,
    torch.max_pool2d: nn.MaxPool2d,
    functional.avg_pool2d: nn.AvgPool2d,
    torch.flatten: _flattening,
    "flatten": _flattening,
    "view": _rows,
    "reshape": _rows,
}
"""How the layer is made that does what a function or a method does, of its arguments after the first."""


@torch.no_grad()
def _alike(module: nn.Module, layers: Layers, example: Tensor) -> bool:
    """Whether the layers give what the network gives."""
    x = example
    for layer in applied(module, layers):
        x = layer(x)
    expected = module(example)
    alike: bool = x.shape == expected.shape and torch.allclose(x, expected, rtol=1e-4, atol=1e-5)
    return alike
