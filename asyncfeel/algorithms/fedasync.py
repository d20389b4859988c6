"""FedAsync (Xie et al. 2019): the server merges every arrival at once, weighed by its staleness."""

from dataclasses import dataclass
from typing import Literal

from asyncfeel.algorithms._one_server import OneServer
from asyncfeel.errors import InputError
from asyncfeel.theory import staleness as psi
from asyncfeel.theory.mixing import combine
from asyncfeel.theory.staleness import Psi
from asyncfeel.world import arrivals
from asyncfeel.world.arrivals import Arrivals
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Steps


@dataclass(frozen=True)
class Fedasync(OneServer):
    """At each arrival alpha_t = alpha s(t - tau) and x <- (1 - alpha_t) x + alpha_t x_new.

    Clients minimise their loss plus rho/2 |x - x_t|^2 and restart at once: nobody waits for anybody.
    The staleness t - tau counts the server's versions since the one that the client downloaded.
    """

    alpha: float = 0.6
    """The weight of a fresh arrival. It is never changed: only s makes a stale one count less."""
    rho: float = 0.005
    """The proximal pull of the clients towards the model that they were sent."""
    s: Literal["constant", "polynomial", "hinge"] = "polynomial"
    """How the weight falls with the staleness d: 1; (1 + d)^-a; 1 up to b, then 1/(a (d - b) + 1)."""
    a: float | None = None
    """The parameter a; left out: 0.5 for polynomial, 10 for hinge."""
    b: float = 4.0
    """The parameter b of hinge."""
    local_steps: int | None = None
    """Steps of each job; left out: training.local_steps."""

    def discount(self) -> Psi:
        """The function s."""
        if self.s == "constant":
            return psi.constant()
        if self.s == "polynomial":
            return psi.polynomial(a=0.5 if self.a is None else self.a)
        return psi.hinge(a=10.0 if self.a is None else self.a, b=self.b)

    def start(self, federation: Federation) -> None:
        """Start the server and every client."""
        federation.job_steps("local_steps", self.local_steps)
        if not 0 < self.alpha <= 1 or self.rho < 0:
            raise InputError(f"algorithm.alpha must be in (0, 1] and rho at least 0, not {self.alpha} and {self.rho}")
        federation.clock.process(self.serve(federation, self.discount()))

    def serve(self, federation: Federation, discount: Psi) -> Steps:
        """The life of the server: merge whoever comes, and send it off again."""
        (server,) = federation.servers
        inbox = Arrivals(federation, server, federation.job_steps("local_steps", self.local_steps), self.rho)
        while True:
            arrival = yield from inbox.next()
            (update,) = yield from federation.join_each([arrival.upload])
            staleness = federation.iteration - arrival.version
            weight = 0.0 if update.diverged else self.alpha * discount(staleness)
            federation.mix({0: combine([(1 - weight, server.model), (weight, update.model)])}, {})
            arrivals.count(federation, [arrival], [weight])
            arrival.release()
