"""Data sets from a file of the user's own: a numpy archive in the form that Keras uses.

The headers are checked at once and the samples are read only when they are needed, so that a
mistake is reported in the first second and a plan never unpacks the images.
"""

import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.learning.datasets.values import COLOUR, GREY, PLAIN, Array, Dataset

KEYS = ("x_train", "y_train", "x_test", "y_test")
ALLOWED = "allowed are (n, features), (n, height, width) and (n, height, width, channels)"
CHANNELS = (1, 3, 4)
MEMBERS = 1000
"""How many arrays a file may hold."""
BOMB_BYTES, BOMB_RATIO = 1 << 30, 100
"""Arrays that unpack to more than so many bytes may not be so many times as large as the file."""


class Npz(Mapping[str, Array]):
    """The arrays of an .npz file; each is unpacked when it is looked up, and pickles are refused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with safe_files.opened(path, "data file") as file, zipfile.ZipFile(file) as archive:
                members = archive.infolist()
        except InputError:
            raise
        except Exception as error:  # whatever zipfile makes of a damaged file
            raise self._error(f"cannot be read as an .npz file ({safe_files.reason(error)})") from error
        self._names = tuple(member.filename.removesuffix(".npy") for member in members)
        self._bytes = {member.filename.removesuffix(".npy"): member.file_size for member in members}
        self._check_sizes(len(members), sum(member.file_size for member in members))

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        try:
            self.header(name)
            with safe_files.opened(self.path, "data file") as file, np.load(file, allow_pickle=False) as archive:
                return np.asarray(archive[name])
        except InputError:
            raise
        except Exception as error:  # whatever numpy and zipfile make of a damaged file
            raise self._error(f"has an array {name} that cannot be read ({safe_files.reason(error)})") from error

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """The shape and the type of an array, without unpacking it."""
        try:
            with (
                safe_files.opened(self.path, "data file") as whole,
                zipfile.ZipFile(whole) as archive,
                archive.open(f"{name}.npy") as file,
            ):
                old = npy.read_magic(file) == (1, 0)
                read = npy.read_array_header_1_0 if old else npy.read_array_header_2_0
                shape, _, dtype = read(file)
                rest = self._bytes[name] - file.tell()
        except InputError:
            raise
        except Exception as error:  # whatever numpy and zipfile make of a damaged file
            raise self._error(f"has an array {name} that cannot be read ({safe_files.reason(error)})") from error
        if min(shape, default=0) < 0 or (not dtype.hasobject and math.prod(shape) * dtype.itemsize != rest):
            raise self._error(f"has an array {name} whose shape {shape} does not fit its {rest:,} bytes")
        return shape, dtype

    def _check_sizes(self, members: int, unpacked: int) -> None:
        """An error for a file that would take all memory, before anything is unpacked."""
        packed = max(1, self.path.stat().st_size)
        if members > MEMBERS:
            raise self._error(f"holds {members:,} arrays, more than the {MEMBERS:,} that are allowed")
        if unpacked > BOMB_BYTES and unpacked > BOMB_RATIO * packed:
            raise self._error(
                f"unpacks from {packed:,} to {unpacked:,} bytes, more than {BOMB_RATIO} times its size (the limit "
                f"above {BOMB_BYTES:,} bytes)"
            )
        if unpacked > memory_bytes():
            raise self._error(f"unpacks to {unpacked:,} bytes, more than the {memory_bytes():,} of this machine")

    def _error(self, problem: str) -> InputError:
        return InputError(f"data file {str(self.path)!r} {problem}: save it with numpy.savez_compressed")


def memory_bytes() -> int:
    """The memory of this machine, where the system tells it; else a terabyte."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 40


def from_npz(path: Path) -> Dataset:
    """The data set in an .npz file with x_train, y_train, x_test, y_test and perhaps owners."""
    if not os.path.lexists(path):
        raise InputError(f"data file {str(path)!r} does not exist: give the path of an .npz file")
    what = f"data file {str(path)!r}"
    arrays = Npz(path)
    missing = [key for key in KEYS if key not in arrays]
    if missing:
        raise InputError(f"{what} has no array {missing[0]}: it needs {', '.join(KEYS)} (and may have owners)")
    dataset = Dataset(arrays, _owners(arrays, what), source=what)
    _check_samples(arrays, what)
    _check_labels(dataset, arrays, what)
    return dataset


def _check_samples(arrays: Npz, what: str) -> None:
    shapes = {}
    for key in ("x_train", "x_test"):
        shape, dtype = arrays.header(key)
        shapes[key] = shape[1:]
        if dtype != np.uint8 and dtype.kind != "f":
            raise InputError(f"{what}: {key} holds {dtype}: pixels must be uint8, other numbers float32")
        if len(shape) not in (PLAIN, GREY, COLOUR) or 0 in shape:
            raise InputError(f"{what}: {key} has the shape {shape}: {ALLOWED}")
        if len(shape) == COLOUR and shape[-1] not in CHANNELS:
            raise InputError(f"{what}: {key} has the shape {shape}: the last axis must be the 1, 3 or 4 channels")
    if shapes["x_train"] != shapes["x_test"]:
        train, test = shapes["x_train"], shapes["x_test"]
        raise InputError(f"{what}: a sample has the shape {train} in x_train but {test} in x_test: they must agree")


def _check_labels(dataset: Dataset, arrays: Npz, what: str) -> None:
    for key in ("train", "test"):
        shape, dtype = arrays.header(f"y_{key}")
        samples = arrays.header(f"x_{key}")[0][0]
        if dtype.kind not in "iu":
            raise InputError(f"{what}: y_{key} holds {dtype}: labels must be whole numbers from 0 to classes - 1")
        if shape not in ((samples,), (samples, 1)):
            raise InputError(f"{what}: y_{key} has the shape {shape} but x_{key} has {samples} samples: one label each")
    known = np.unique(dataset.y_train)
    if not np.array_equal(known, np.arange(len(known))):
        raise InputError(f"{what}: y_train must use every label from 0 to classes - 1, but has {_some(known)}")
    strange = np.setdiff1d(dataset.y_test, known)
    if len(strange):
        raise InputError(f"{what}: y_test has the label {strange[0]}, which y_train (0 to {known[-1]}) has not")


def _owners(arrays: Npz, what: str) -> Array | None:
    if "owners" not in arrays:
        return None
    shape, dtype = arrays.header("owners")
    samples = arrays.header("x_train")[0][:1]
    if dtype.kind not in "iu" or shape != samples:
        raise InputError(
            f"{what}: owners must be {samples[0]} whole numbers, one per training sample, not {shape} {dtype}"
        )
    owners = arrays["owners"].astype(np.int64)
    if len(owners) and owners.min() < 0:
        raise InputError(f"{what}: owners must count from 0, but has {owners.min()}")
    return owners


def _some(labels: Array) -> str:
    shown = ", ".join(str(label) for label in labels[:5])
    return shown if len(labels) <= 5 else f"{shown}, ..."
