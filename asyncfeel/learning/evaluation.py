"""Evaluation of a model on whole sets of samples.

An evaluator owns a module, as a trainer does, so that it may run in any thread beside training.
"""

import threading

import torch
from torch import Tensor, nn

from asyncfeel.errors import Interrupted
from asyncfeel.learning.flat import FlatModule
from asyncfeel.learning.losses import Loss
from asyncfeel.learning.samples import Samples

VALUES_AT_ONCE = 500_000
SAMPLES_AT_ONCE = 1000


class Evaluator:
    """Losses and accuracies of any model, one evaluation at a time."""

    def __init__(self, model: FlatModule, loss: Loss) -> None:
        self.model = model
        self._loss = loss
        self._lock = threading.Lock()

    def assess(
        self, vector: Tensor, samples: Samples, rows: Tensor | None = None, stop: threading.Event | None = None
    ) -> tuple[float, float]:
        """The mean loss of the model on these rows (all by default), and the share that it classifies rightly."""
        with self._lock:
            self.model.load(vector)
            return assess(self.model.module, self._loss, samples, rows, stop)


def mean_loss(module: nn.Module, loss: Loss, samples: Samples, rows: Tensor) -> float:
    """The mean loss of a module on some rows."""
    return assess(module, loss, samples, rows)[0]


@torch.no_grad()
def assess(
    module: nn.Module, loss: Loss, samples: Samples, rows: Tensor | None, stop: threading.Event | None = None
) -> tuple[float, float]:
    """The mean loss of a module on these rows (all if there are none given), and its share of right answers."""
    module.eval()
    chosen = torch.arange(len(samples), device=samples.device) if rows is None else rows
    total, right = 0.0, 0
    for piece in torch.split(chosen, max(1, min(SAMPLES_AT_ONCE, VALUES_AT_ONCE // samples.values))):
        if stop is not None and stop.is_set():
            raise Interrupted("evaluation was interrupted")
        raw, labels = samples.take(piece)
        outputs = module(samples.inputs(raw))
        total += loss(outputs, labels).item() * len(piece)
        right += int((outputs.argmax(dim=1) == labels).sum())
    return total / len(chosen), right / len(chosen)
