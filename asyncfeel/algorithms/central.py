"""Central training: all the data in one place at the clients' mean speed; the reference line."""

from dataclasses import dataclass

from asyncfeel.jobs import EVERYONE, Job
from asyncfeel.theory import latency
from asyncfeel.world.client import Upload
from asyncfeel.world.federation import Federation
from asyncfeel.world.layout import Layout, one_server
from asyncfeel.world.records import Trigger
from asyncfeel.world.server import Steps


@dataclass(frozen=True)
class Central:
    """Plain SGD on all the data: w <- w - lr g(w). Nothing is sent and nobody waits."""

    local_steps: int | None = None
    """Steps of one iteration; left out: training.local_steps."""

    def layout(self, world: Layout) -> Layout:
        """One place for everything."""
        return one_server(world, "cloud")

    def objective(self, federation: Federation) -> list[float]:
        """All data count alike, as stated."""
        return [1.0]

    def start(self, federation: Federation) -> None:
        """Start training."""
        federation.job_steps("local_steps", self.local_steps)
        federation.clock.process(self.serve(federation))

    def serve(self, federation: Federation) -> Steps:
        """One job after another, each as long as a device of mean speed needs."""
        (server,) = federation.servers
        steps, samples = federation.job_steps("local_steps", self.local_steps), int(federation.profiles.samples.sum())
        mean_flops = float(federation.network.flops.mean())
        while True:
            started_s = federation.clock.now
            server.phase = "training"
            compute_s = latency.compute_s(steps, federation.network.flops_per_step, mean_flops)
            result = federation.executor.submit(Job(EVERYONE, federation.iteration, server.model, steps))
            yield federation.clock.timeout(compute_s)
            (update,) = yield from federation.join_each([Upload(EVERYONE, samples, steps, result, sent=server.model)])
            federation.mix({0: update.model}, {})
            federation.count([Trigger(0, started_s, compute_s, [steps])], [0], {})
