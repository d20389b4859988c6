"""The values that the simulated world and the real training share.

The world describes a piece of training as a frozen `Job` and hands it to an `Executor`; it gets
an awaitable of an `Update` back. Neither side knows more of the other than this file.

A model is anything that can be added, subtracted and multiplied by a number: a flat tensor in a
real run, a float or an array in a test, the number 0 in a plan.
"""

from collections.abc import Awaitable, Generator
from dataclasses import dataclass
from typing import Any, Protocol

Model = Any

EVERYONE = -1
"""The client that stands for all clients: a job of its own trains on all the data in one place."""


@dataclass(frozen=True, slots=True)
class Job:
    """One client's local training: everything that its result depends on, beside data and seed."""

    client: int
    number: int
    """How many jobs this client had before; with the client it names the stream of batches."""
    model: Model
    """The model that the client was sent. Servers rebind models and never change them in place."""
    steps: int
    """Mini-batch steps to take (tau)."""
    measure_loss: bool = False
    """Whether the client also reports its own loss at the model that it was sent (A18)."""
    proximal: float = 0.0
    """The pull rho back to the model that it was sent: every gradient gets rho (x - x_sent) added."""
    rate: float = 1.0
    """By what the learning rate is multiplied for this job."""
    probe: bool = False
    """Whether the client also reports losses and gradients over all its data, before and after the job."""


@dataclass(frozen=True, slots=True)
class Update:
    """What a client has after its job."""

    model: Model
    loss: float | None = None
    """The client's loss over its own data at the model it was sent, if it was asked for."""
    probe: "Probe | None" = None
    """What it found at both ends of its job, if it was asked for."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A client's loss F_i and gradient over all its own data, at the model it was sent and at its result."""

    loss_sent: float
    loss_done: float
    gradient_sent: Model
    gradient_done: Model


class Executor(Protocol):
    """Runs jobs for real; the simulated clock never sees how long that takes."""

    def submit(self, job: Job) -> Awaitable[Update]:
        """Start the job at once, if it can start, and give its result to whoever awaits it."""
        ...

    def close(self) -> None:
        """Free what the executor holds; jobs that have not begun are dropped."""
        ...


class Ready:
    """An awaitable that has its result already."""

    __slots__ = ("update",)

    def __init__(self, update: Update) -> None:
        self.update = update

    def __await__(self) -> Generator[Any, None, Update]:
        return self.update
        yield
