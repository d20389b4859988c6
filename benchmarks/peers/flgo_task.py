"""The task as FLGo's `gen_direct_task_from_file` expects it: data, loader, loss and model under fixed names.

FLGo copies this file and imports the copy; the workload and the data come by environment variables.
"""

import os
from typing import Any

import torch
import work
from torch.utils.data import TensorDataset

WORKLOAD, DATA = "PEERS_WORKLOAD", "PEERS_DATA"

train_data = [TensorDataset(x, y) for x, y in work.load(os.environ[DATA]).clients]
test_data = None
val_data = None


def DataLoader(dataset: TensorDataset, **options: Any) -> work.Loader:  # noqa: N802, FLGo's name
    """Batches made from whole tensors: faster than torch's own loader."""
    return work.Loader(*dataset.tensors)


def data_to_device(batch: Any, device: torch.device) -> Any:
    """The batch: it is where it is needed."""
    return batch


def eval(model: torch.nn.Module, loader: work.Loader, device: torch.device) -> dict[str, float]:  # noqa: A001
    """Nothing: the model is tested once, after the timing."""
    return {}


def compute_loss(model: torch.nn.Module, batch: Any, device: torch.device) -> dict[str, torch.Tensor]:
    """What a step makes smaller."""
    x, y = batch
    return {"loss": torch.nn.functional.cross_entropy(model(x), y)}


def get_model() -> torch.nn.Module:
    """The model with its first weights."""
    return work.model(os.environ[WORKLOAD])
