"""All client devices as columns, and what they work with: no object for a client that needs none."""

from collections.abc import Callable
from dataclasses import dataclass

from asyncfeel.jobs import Executor, Model
from asyncfeel.theory.latency import Counts
from asyncfeel.world.clock import Clock
from asyncfeel.world.faults import Faults
from asyncfeel.world.network import Network
from asyncfeel.world.traffic import Traffic


@dataclass(frozen=True, slots=True, eq=False)
class Devices:
    """The clients of a federation, whichever server they belong to."""

    samples: Counts
    """The samples n_i of each client."""
    jobs: Counts
    """How many jobs each client has had; it names the stream of its next batches."""
    network: Network
    clock: Clock
    executor: Executor
    traffic: Traffic
    measure_loss: bool = False
    """Whether clients report their own loss at the model that they were sent (A18)."""
    beyond: Callable[[Model, float | None], float | None] | None = None
    """The norm of a change that has diverged, or nothing; see `Broadcast`."""
    faults: Faults | None = None
    """What goes wrong with them, where anything does."""
