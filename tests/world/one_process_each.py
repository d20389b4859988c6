"""The world as it is meant, without a thought for speed: every client of a broadcast is a process of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import simpy

from asyncfeel import folding
from asyncfeel.jobs import Broadcast
from asyncfeel.theory.aggregation import coefficients, data_shares
from asyncfeel.world.cohort import Uploads
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Server


class Together:
    """The jobs of one broadcast, handed over when the last client has the model; all have it at one instant."""

    def __init__(self, server: "PlainServer", clients: Sequence[int], weigh: Any, probe: bool) -> None:
        self.server, self.weigh, self.probe = server, weigh, probe
        self.clients, self.model, self.steps, self.result = list(clients), server.model, {}, None

    def hand_over(self, client: int, steps: int) -> None:
        self.steps[client] = steps
        if len(self.steps) < len(self.clients):
            return
        devices, clients = self.server.devices, np.array(self.clients)
        steps_taken = np.array([self.steps[client] for client in self.clients])
        samples = devices.samples[clients]
        work = Broadcast(
            self.model,
            clients,
            devices.jobs[clients],
            steps_taken,
            lambda: self.weigh(samples.tolist(), steps_taken.tolist()),
            devices.measure_loss,
            probe=self.probe,
            keep=self.probe,
        )
        devices.jobs[clients] += 1
        self.result = Uploads(clients, samples, steps_taken, folding.start(devices.executor, work))


class PlainServer(Server):
    """A server that starts one process for each client and waits for all of them."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.number, server.share, server.members, server._devices)
        self.model, self.devices = server.model, server._devices

    def broadcast_until(self, deadline_s, weigh=coefficients, probe=False):
        def fitting(client, place):
            return self.devices.network.steps_within(client, deadline_s, self.devices.clock.now), deadline_s

        self._begin(deadline_s, None, weigh, probe, fitting)

    def broadcast_steps(self, steps, deadline_s, clients=None, weigh=coefficients, probe=False):
        def needed(client, place):
            return steps, self.devices.network.compute_s(client, steps, self.devices.clock.now)

        self._begin(deadline_s, clients, weigh, probe, needed)

    def broadcast_during(self, steps, deadline_s, weigh=data_shares):
        self._begin(deadline_s, None, weigh, False, lambda client, place: (int(steps[place]), deadline_s))

    def collect(self):
        yield simpy.AllOf(self.devices.clock, self.processes)
        return self.together.result

    def _begin(self, deadline_s, clients, weigh, probe, amount):
        chosen = (self.members if clients is None else clients).tolist()
        self.sent, self.started_s, self.deadline_s = self.model, self.devices.clock.now, deadline_s
        self.together = Together(self, chosen, weigh, probe)
        lives = [self._live(client, place, self.together, amount) for place, client in enumerate(chosen)]
        self.processes = [self.devices.clock.process(life) for life in lives]

    def _live(self, client, place, together, amount):
        network, clock = self.devices.network, self.devices.clock
        if download_s := network.downlink_s(client, clock.now):
            yield clock.timeout(download_s)
        steps, compute_s = amount(client, place)
        together.hand_over(client, steps)
        yield clock.timeout(compute_s)
        yield clock.timeout(network.uplink_s(client, clock.now))


def plain(federation: Federation) -> Federation:
    """The federation with servers that start a process for each client."""
    federation.servers = [PlainServer(server) for server in federation.servers]
    return federation
