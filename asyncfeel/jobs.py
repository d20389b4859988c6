"""The values that the simulated world and the real training share.

The world describes a piece of training as a frozen `Job` and hands it to an `Executor`; it gets
an awaitable of an `Update` back. The jobs that start together from one model travel as one
`Broadcast`, whose results are added up as they come: nobody ever holds all of them. Neither side
knows more of the other than this file.

A model is anything that can be added, subtracted and multiplied by a number: a flat tensor in a
real run, a float or an array in a test, the number 0 in a plan.
"""

from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Model = Any
T = TypeVar("T")

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
    due_s: float = field(default=0.0, compare=False)
    """The simulated second before which nobody asks for the result: a hint what to train first, no more."""


@dataclass(frozen=True, slots=True)
class Update:
    """What a client has after its job."""

    model: Model
    loss: float | None = None
    """The client's loss over its own data at the model it was sent, if it was asked for."""
    probe: "Probe | None" = None
    """What it found at both ends of its job, if it was asked for."""
    diverged: bool = False
    """Whether training diverged: the model is then the one that the client was sent, and not to be merged."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A client's loss F_i and gradient over all its own data, at the model it was sent and at its result."""

    loss_sent: float
    loss_done: float
    gradient_sent: Model
    gradient_done: Model


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast:
    """The jobs that start from one model at one instant, as columns: there may be a million."""

    model: Model
    """The model that all of them were sent."""
    clients: NDArray[np.int64]
    numbers: NDArray[np.int64]
    """How many jobs each client had before."""
    steps: NDArray[np.int64]
    factors: Callable[[], Sequence[float]]
    """How much each client's change (w_i - s) counts; asked for only by those who train."""
    measure_loss: bool = False
    proximal: float = 0.0
    rate: float = 1.0
    probe: bool = False
    keep: bool = False
    """Whether the results are wanted one by one as well; they are then all held in memory."""
    due_s: float = 0.0
    """The simulated second before which nobody asks for the results: a hint what to train first, no more."""
    beyond: Callable[[Model, float | None], float | None] | None = None
    """The norm of a change (w_i - s) that has diverged, given with the client's loss; nothing if it is sound."""
    factors_of: Callable[[Sequence[int]], Sequence[float]] | None = None
    """How much the changes of those at these places count, where the others are left out."""

    def __len__(self) -> int:
        return len(self.clients)

    def jobs(self) -> Iterator[Job]:
        """The jobs one by one, in the order of the clients."""
        options = (self.measure_loss, self.proximal, self.rate, self.probe, self.due_s)
        for client, number, steps in zip(
            self.clients.tolist(), self.numbers.tolist(), self.steps.tolist(), strict=True
        ):
            yield Job(client, number, self.model, steps, *options)


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """What a broadcast comes to."""

    change: Model
    """The sum of factor_i (w_i - s), added up in the order of the clients (A38)."""
    losses: Sequence[float | None] = ()
    """The clients' losses at the model they were sent, if they were asked for."""
    updates: Sequence[Update] = ()
    """The results one by one, if they were to be kept."""
    diverged: Sequence[tuple[int, float]] = ()
    """The places in the broadcast whose results were left out, with the norms of their changes."""


class Executor(Protocol):
    """Runs jobs for real; the simulated clock never sees how long that takes.

    It may have a method `broadcast(work)` too, which starts all jobs of a `Broadcast` and gives an
    awaitable of `Gathered`; folding.py adds up single jobs for those that have none. And it may have
    a method `dismiss()`, which is called when the simulated run is over: no job is wanted any more.
    """

    def submit(self, job: Job) -> Awaitable[Update]:
        """Start the job at once, if it can start, and give its result to whoever awaits it."""
        ...

    def close(self) -> None:
        """Free what the executor holds; jobs that have not begun are dropped."""
        ...


class Ready(Generic[T]):
    """An awaitable that has its result already."""

    __slots__ = ("result",)

    def __init__(self, result: T) -> None:
        self.result = result

    def __await__(self) -> Generator[Any, None, T]:
        return self.result
        yield
