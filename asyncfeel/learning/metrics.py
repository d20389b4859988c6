"""What an evaluation of the global model finds; needs no torch, so that reports can read it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metrics:
    """Losses and accuracy of one model."""

    train_loss: float
    """Mean loss over the training samples, or over a fixed random sample of them."""
    test_loss: float
    test_accuracy: float
    """Share of the test samples that are classified rightly; not a number where there are no classes."""
