"""A data set as one value, read no sooner than it is asked for.

A plan needs only the labels of a data set, to know how many samples each client has. So the
arrays stay behind a mapping, which may be an archive on disk, and are read one by one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from asyncfeel.errors import InputError

Array = npt.NDArray[Any]
PLAIN, GREY, COLOUR = 2, 3, 4


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test samples in one fixed form.

    `arrays` holds x_train, y_train, x_test and y_test. Images come out as (samples, height, width,
    channels), pixels as uint8 and everything else as float32; labels as int64.
    """

    arrays: Mapping[str, Array]
    owners: Array | None = None
    """The natural client of each training sample, if the data have one."""
    loss: Literal["cross-entropy", "half-square"] = "cross-entropy"
    curvature: Array | None = None
    """The weight of each coordinate in the half-square loss; its largest entry is the smoothness L."""
    known_classes: int | None = None
    """The number of classes where the training labels might not show them all."""
    source: str = "the data set"
    """How errors call these data."""

    @cached_property
    def x_train(self) -> Array:
        """The training samples."""
        return samples(self.arrays["x_train"], f"x_train of {self.source}")

    @cached_property
    def x_test(self) -> Array:
        """The test samples."""
        return samples(self.arrays["x_test"], f"x_test of {self.source}")

    @cached_property
    def y_train(self) -> Array:
        """The labels of the training samples."""
        return np.asarray(self.arrays["y_train"]).reshape(-1).astype(np.int64)

    @cached_property
    def y_test(self) -> Array:
        """The labels of the test samples."""
        return np.asarray(self.arrays["y_test"]).reshape(-1).astype(np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample: (height, width, channels) of an image, else (features,)."""
        return tuple(self.x_train.shape[1:])

    @property
    def is_image(self) -> bool:
        """Whether the samples are images."""
        return len(self.shape) == GREY

    @property
    def classes(self) -> int:
        """The number of classes, or of coordinates when there are no classes."""
        if self.loss == "half-square":
            return self.shape[0]
        return self.known_classes or int(self.y_train.max()) + 1


def samples(array: Array, what: str) -> Array:
    """The samples as contiguous pixels (uint8) or finite numbers (float32), channels last."""
    if array.ndim not in (PLAIN, GREY, COLOUR):
        raise InputError(f"{what} has {array.ndim} axes: features need 2, grey images 3, colour images 4")
    shaped = array[..., np.newaxis] if array.ndim == GREY else array
    if shaped.dtype == np.uint8:
        return np.ascontiguousarray(shaped)
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(shaped, dtype=np.float32)
    if not np.isfinite(numbers).all():
        raise InputError(f"{what} holds values that are not finite numbers: replace them or leave those samples out")
    return numbers
