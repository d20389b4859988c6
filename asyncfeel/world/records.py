"""What the simulated world tells about itself: one frozen value per completed iteration."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asyncfeel.theory.mixing import Columns


@dataclass(frozen=True, slots=True, eq=False)
class Trigger:
    """A server that completed an iteration: when it started, its deadline, its clients' steps."""

    server: int
    started_s: float
    deadline_s: float
    """How long its clients could compute, T_comp."""
    steps: Sequence[int] | NDArray[np.int64]
    """The steps tau_i of its clients, in their order."""

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal; the steps may be a list in one and a column in the other."""
        if not isinstance(other, Trigger):
            return NotImplemented
        times = (self.server, self.started_s, self.deadline_s) == (other.server, other.started_s, other.deadline_s)
        return times and np.array_equal(self.steps, other.steps)

    __hash__ = None  # type: ignore[assignment]

    @property
    def total_steps(self) -> int:
        """The steps of all its clients together."""
        return int(np.sum(self.steps))

    @property
    def spread(self) -> tuple[int, float, int]:
        """The fewest steps of a client, their plain mean, and the most."""
        return int(np.min(self.steps)), self.total_steps / len(self.steps), int(np.max(self.steps))


@dataclass(frozen=True, slots=True)
class Merged:
    """A client's result as a single server merged it: how stale it was, and how much it counted."""

    client: int
    staleness: int
    """Versions of the server's model since the one that the client downloaded."""
    weight: float


@dataclass(frozen=True, slots=True)
class Completion:
    """One global iteration: who triggered it, how stale everyone was, how the models were mixed."""

    iteration: int
    """Its number k, from 0."""
    time_s: float
    triggers: Sequence[Trigger]
    """One server, or all that completed together."""
    staleness: Sequence[int]
    """delta_k of every server, before the triggers are reset."""
    mixing: Columns
    """P_k, as its columns that differ from the identity."""
    merged: Sequence[Merged] = ()
    """Whose results a single server merged; empty where servers mix."""
