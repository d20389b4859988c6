"""FedNova (Wang et al. 2020): one server, unequal numbers of steps, normalised updates."""

from dataclasses import dataclass
from typing import Literal

from asyncfeel.algorithms._one_server import OneServer, merged
from asyncfeel.world.deadlines import deadlines
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Steps


@dataclass(frozen=True)
class Fednova(OneServer):
    """All clients train until the deadline; x <- x - tau_eff sum_i p_i (x - x_i) / tau_i.

    tau_eff = sum_i p_i tau_i. A round lasts the deadline and the upload; nobody waits for stragglers.
    """

    deadline: Literal["min-steps", "fixed"] = "min-steps"
    """How long clients train: until the slowest has done `min_steps`, or `deadline_s`."""
    min_steps: int | None = None
    """Steps of the slowest client; left out: training.local_steps."""
    deadline_s: float | None = None
    """The deadline when `deadline` is `fixed`."""

    def start(self, federation: Federation) -> None:
        """Start the rounds."""
        (deadline_s,) = deadlines(self.deadline, federation, self.min_steps, self.deadline_s)
        federation.clock.process(self.serve(federation, deadline_s))

    def serve(self, federation: Federation, deadline_s: float) -> Steps:
        """The life of the server: broadcast, wait for the deadline and the uploads, aggregate."""
        (server,) = federation.servers
        while True:
            yield from server.ready()
            server.broadcast_until(deadline_s)
            uploads = yield from server.collect()
            if uploads.nobody:
                yield from server.skip()
                continue
            yield from server.ready()
            gathered = yield from federation.join(uploads)
            federation.mix({0: server.model + gathered.change}, {})
            federation.count([server.trigger(uploads)], [0], {}, merged(uploads, gathered))
