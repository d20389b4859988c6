"""How long phases last in the simulated world.

Every duration takes the simulated second at which its phase starts, so that speeds and rates may
change over time. None looks at a machine's clock, or at a training result. The functions `..._each`
give a column, for clients given as a column, with the very numbers of the plain functions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from asyncfeel.theory import latency
from asyncfeel.theory.latency import Counts, Floats
from asyncfeel.world.topology import Topology
from asyncfeel.world.variation import UNCHANGING, Factor


@dataclass(frozen=True)
class Network:
    """Devices and channels: what work and transfers cost in simulated seconds (A16)."""

    topology: Topology
    flops: NDArray[np.float64]
    flops_per_step: float
    model_bits: float
    uplink_bps: float
    exchange_bps: float
    downlink_bps: float | None = None
    cloud_bps: float | None = None
    drift: Factor = UNCHANGING
    fading: Factor = UNCHANGING
    access: Literal["uplink", "cloud"] = "uplink"
    """The kind of link between a client and its server."""

    def speed(self, client: int, start_s: float) -> float:
        """The FLOPS of a client for a phase that starts then."""
        return float(self.flops[client]) * self.drift(client, start_s)

    def compute_s(self, client: int, steps: int, start_s: float) -> float:
        """How long a client needs for so many mini-batch steps."""
        return latency.compute_s(steps, self.flops_per_step, self.speed(client, start_s))

    def steps_within(self, client: int, deadline_s: float, start_s: float) -> int:
        """The steps that a client does before the deadline, tau_i."""
        return latency.steps_within(deadline_s, self.flops_per_step, self.speed(client, start_s))

    def uplink_s(self, client: int, start_s: float) -> float:
        """How long a client's upload takes."""
        return latency.transfer_s(self.model_bits, self.uplink_bps * self.fading(client, start_s))

    def speed_each(self, clients: Counts, start_s: float) -> Floats:
        """The FLOPS of each client for a phase that starts then."""
        flops = self.flops[clients]
        if self.drift is not UNCHANGING:
            flops *= _factors(self.drift, clients, np.full(len(clients), start_s))
        return flops

    def compute_each_s(self, clients: Counts, steps: Counts, start_s: float) -> Floats:
        """How long each client needs for its mini-batch steps."""
        return latency.compute_each_s(steps, self.flops_per_step, self.speed_each(clients, start_s))

    def steps_each_within(self, clients: Counts, deadline_s: float, start_s: float) -> Counts:
        """The steps that each client does before the deadline, tau_i."""
        return latency.steps_each_within(deadline_s, self.flops_per_step, self.speed_each(clients, start_s))

    def uplink_each_s(self, clients: Counts, start_s: Floats) -> Floats:
        """How long each client's upload takes, which starts at its own second."""
        if self.fading is UNCHANGING:
            return np.full(len(clients), latency.transfer_s(self.model_bits, self.uplink_bps))
        rates_bps = self.uplink_bps * _factors(self.fading, clients, start_s)
        return latency.transfer_each_s(self.model_bits, rates_bps)

    def downlink_s(self, client: int, start_s: float) -> float:
        """How long a broadcast takes; nothing, where no rate is given."""
        return latency.transfer_s(self.model_bits, self.downlink_bps) if self.downlink_bps else 0.0

    def exchange_s(self, server: int, start_s: float, neighbours: Sequence[int] | None = None) -> float:
        """How long the exchange with all neighbours, or with some, takes: that of the slowest link, all at once."""
        others = self.topology.neighbours[server] if neighbours is None else neighbours
        return max((self.link_s(server, other, start_s) for other in others), default=0.0)

    def link_s(self, a: int, b: int, start_s: float) -> float:
        """How long one model takes over one link."""
        return latency.transfer_s(self.model_bits, self.topology.rate_bps(a, b, self.exchange_bps))

    @property
    def cloud_rate_bps(self) -> float:
        """The rate of the cloud links: as given, or a tenth of the uplinks'."""
        return self.cloud_bps or self.uplink_bps / 10

    def cloud_s(self, start_s: float) -> float:
        """How long one model takes from an edge server to the cloud."""
        return latency.transfer_s(self.model_bits, self.cloud_rate_bps)

    def iteration_s(self, server: int, clients: Counts, deadline_s: float) -> float:
        """How long an iteration of a cluster lasts when nothing changes over time, T_iter[d]."""
        uploads_s = self.uplink_each_s(clients, np.zeros(len(clients)))
        slowest_s = float((self.downlink_s(int(clients[0]), 0.0) + deadline_s + uploads_s).max())
        return slowest_s + self.exchange_s(server, 0.0)


def _factors(factor: Factor, clients: Counts, start_s: Floats) -> Floats:
    """What a factor is for each client, which may be a function of a user's own: it is asked one by one."""
    pairs = zip(clients.tolist(), start_s.tolist(), strict=True)
    return np.fromiter((factor(client, second) for client, second in pairs), np.float64, len(clients))
