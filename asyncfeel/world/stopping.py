"""When training ends (A18)."""

import math
from collections.abc import Iterable


class Patience:
    """Watches the clients' own losses, each measured at the model that the client was sent.

    It is exhausted once every client has gone `patience` of its iterations in a row without an
    improvement by more than `tolerance` on its best loss.
    """

    def __init__(self, clients: Iterable[int], patience: int, tolerance: float) -> None:
        self.patience = patience
        self.tolerance = tolerance
        self._best = dict.fromkeys(clients, math.inf)
        self._idle = dict.fromkeys(self._best, 0)
        self._improving = len(self._idle)
        """How many clients have not lost patience: counted, for there may be a million."""

    def observe(self, client: int, loss: float) -> None:
        """Take note of a client's loss."""
        if loss < self._best[client] - self.tolerance:
            self._best[client] = loss
            self._improving += self._idle[client] >= self.patience
            self._idle[client] = 0
        else:
            self._idle[client] += 1
            self._improving -= self._idle[client] == self.patience

    @property
    def exhausted(self) -> bool:
        """Whether no client improves any more."""
        return not self._improving
