"""Parcels: things with tensors in them, in the form in which they travel between processes.

Tensors travel as arrays, and arrays as buffers beside the pickle. Ray keeps buffers in memory that
all processes of a machine share, so that every worker there reads the same copy of the data.
"""

import functools
import io
import pickle
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from asyncfeel import plugins
from asyncfeel.learning.datasets.values import Dataset
from asyncfeel.learning.evaluation import Evaluator
from asyncfeel.learning.flat import FlatModule


@dataclass(frozen=True, eq=False)
class Parcel:
    """A thing as a pickle and the buffers that belong to it."""

    data: bytes
    buffers: list[NDArray[np.uint8]]

    @property
    def size(self) -> int:
        """Its bytes, but for what Ray adds."""
        return len(self.data) + sum(buffer.nbytes for buffer in self.buffers)

    def open(self) -> Any:
        """The thing; its tensors lie in the parcel's own memory and must not be changed."""
        return pickle.loads(self.data, buffers=self.buffers)

    def copied(self) -> Any:
        """The thing, with memory of its own; the parcel may be thrown away."""
        return pickle.loads(self.data, buffers=[buffer.copy() for buffer in self.buffers])


def pack(thing: Any) -> Parcel:
    """The thing as a parcel; its buffers are still the memory of the thing."""
    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    _pickler()(file, protocol=5, buffer_callback=buffers.append).dump(thing)
    return Parcel(file.getvalue(), [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers])


@functools.cache
def _pickler() -> Any:
    """Ray's pickler, which knows closures and classes of scripts, and our forms before its own."""
    from ray import cloudpickle

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
        def reducer_override(self, part: Any) -> Any:
            form = _form(part)
            return super().reducer_override(part) if form is None else form

    return Pickler


def _form(part: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """How a part is made anew where it arrives; nothing if it travels as it is."""
    if type(part) is Tensor:
        return _tensor, (part.detach().cpu().numpy(), part.device.type)
    if isinstance(part, torch.device):
        # A worker sees only the GPU that it was given, and that one has the number 0 there.
        return torch.device, (part.type,)
    if isinstance(part, FlatModule):
        return FlatModule, (part.module, part.vector.device)
    if isinstance(part, Evaluator):
        return Evaluator, (part.model, part._loss)
    if isinstance(part, Dataset):
        # Its samples travel as tensors already.
        return Dataset, ({}, None, part.loss, part.curvature, part.known_classes, part.source)
    return None


def _tensor(array: NDArray[Any], device: str) -> Tensor:
    if array.flags.writeable:
        return torch.from_numpy(array).to(device)
    with warnings.catch_warnings():
        # torch has no tensors that cannot be written to; nobody writes to the model or to the data.
        warnings.filterwarnings("ignore", "The given NumPy array is not writ")
        return torch.from_numpy(array).to(device)


@contextmanager
def user_code_included() -> Iterator[None]:
    """What is packed inside brings the code of the user's own files along: workers cannot import it."""
    from ray import cloudpickle

    own = [module for name, module in sys.modules.items() if name.startswith(plugins.FROM_FILE)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)
