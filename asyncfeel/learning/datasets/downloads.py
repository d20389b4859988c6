"""The well-known image sets: from a file if there is one, else from the network.

A Keras-style archive is looked for first because it needs neither torchvision nor a network.
"""

from pathlib import Path
from typing import Any

import numpy as np

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.learning.datasets.files import from_npz
from asyncfeel.learning.datasets.values import Array, Dataset


def fetch(name: str, torchvision_name: str, data_dir: Path) -> Dataset:
    """The data set from `<data_dir>/<name>.npz`, or else from torchvision's own files or download."""
    archive = data_dir / f"{name}.npz"
    return (
        from_npz(archive)
        if safe_files.is_file(archive)
        else Dataset(_download(name, torchvision_name, data_dir), source=name)
    )


def _download(name: str, torchvision_name: str, data_dir: Path) -> dict[str, Array]:
    before = set(data_dir.rglob("*")) | ({data_dir} if data_dir.exists() else set())
    try:
        from asyncfeel.learning.vision import torchvision

        kind = getattr(torchvision("datasets"), torchvision_name)
        train, test = (kind(root=str(data_dir), train=part, download=True) for part in (True, False))
    except (ImportError, OSError, RuntimeError) as error:
        _remove_empty(data_dir, before)
        reason = " ".join(str(error).split())
        raise InputError(
            f"data set {name!r} is neither the file {data_dir / name}.npz nor torchvision's {torchvision_name} in "
            f"{str(data_dir)!r}, and the download failed ({reason}): put a Keras-style file {name}.npz into "
            f"{str(data_dir)!r}, or connect to the network, or choose --dataset digits"
        ) from error
    return {"x_train": _pixels(train), "y_train": _labels(train), "x_test": _pixels(test), "y_test": _labels(test)}


def _remove_empty(folder: Path, before: set[Path]) -> None:
    """Take away the empty folders that a failed download left behind, and nothing else."""
    made = [path for path in [folder, *folder.rglob("*")] if path.is_dir() and path not in before]
    for path in sorted(made, reverse=True):
        if not any(path.iterdir()):
            path.rmdir()


def _pixels(part: Any) -> Array:
    return np.asarray(part.data, dtype=np.uint8)


def _labels(part: Any) -> Array:
    return np.asarray(part.targets, dtype=np.int64)
