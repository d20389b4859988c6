"""The output model as a file."""

import hashlib
from pathlib import Path

from safetensors.torch import save
from torch import Tensor

from asyncfeel.learning.learner import Learner


def write(path: Path, learner: Learner, model: Tensor) -> str:
    """Write a model under the names of its module's state_dict, and give the SHA-256 of the file."""
    data = save(learner.export(model))
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()
