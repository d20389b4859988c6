"""FedBuff (Nguyen et al. 2022): clients never wait; the server steps once K deltas are in its buffer."""

from dataclasses import dataclass

from asyncfeel.algorithms._one_server import OneServer
from asyncfeel.errors import InputError
from asyncfeel.theory.aggregation import change
from asyncfeel.theory.staleness import polynomial
from asyncfeel.world import arrivals
from asyncfeel.world.arrivals import Arrival, Arrivals
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Steps


@dataclass(frozen=True)
class Fedbuff(OneServer):
    """With K deltas in the buffer, w <- w + eta_g / K sum_i (1 + d_i)^-1/2 (w_i - w_i_sent).

    A client restarts with the present model as soon as its upload is done; nobody waits.
    """

    K: int = 10
    """Deltas in the buffer before the server takes a step."""
    eta_g: float = 1.0
    """The server's step size."""
    local_steps: int | None = None
    """Steps of each job; left out: training.local_steps."""

    def start(self, federation: Federation) -> None:
        """Start the server and every client."""
        federation.job_steps("local_steps", self.local_steps)
        if self.K < 1 or not self.eta_g > 0:
            raise InputError(f"algorithm.K must be at least 1 and eta_g above 0, not {self.K} and {self.eta_g}")
        federation.clock.process(self.serve(federation))

    def serve(self, federation: Federation) -> Steps:
        """The life of the server: send arrivals off again at once, step when the buffer is full."""
        (server,) = federation.servers
        inbox = Arrivals(federation, server, federation.job_steps("local_steps", self.local_steps))
        discount = polynomial(a=0.5)
        while True:
            buffer: list[Arrival] = []
            while len(buffer) < self.K:
                arrival = yield from inbox.next()
                buffer.append(arrival)
                if len(buffer) < self.K:
                    arrival.release()
            updates = yield from federation.join_each([arrival.upload for arrival in buffer])
            stale = [federation.iteration - arrival.version for arrival in buffer]
            sound = sum(not update.diverged for update in updates)
            weights = [
                0.0 if update.diverged else self.eta_g / sound * discount(d)
                for update, d in zip(updates, stale, strict=True)
            ]
            model = server.model
            for arrival, update, weight in zip(buffer, updates, weights, strict=True):
                model = model + change(arrival.sent, [update.model], [weight])
            federation.mix({0: model}, {})
            arrivals.count(federation, buffer, weights)
            buffer[-1].release()
