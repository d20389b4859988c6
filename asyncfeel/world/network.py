"""How long phases last in the simulated world.

Every duration takes the simulated second at which its phase starts, so that speeds and rates may
change over time. None looks at a machine's clock, or at a training result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from asyncfeel.theory import latency
from asyncfeel.world.topology import Topology
from asyncfeel.world.variation import Factor, none


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
    drift: Factor = none()
    fading: Factor = none()
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

    def downlink_s(self, client: int, start_s: float) -> float:
        """How long a broadcast takes; nothing, where no rate is given."""
        return latency.transfer_s(self.model_bits, self.downlink_bps) if self.downlink_bps else 0.0

    def exchange_s(self, server: int, start_s: float) -> float:
        """How long the exchange with all neighbours takes: that of the slowest link, all at once."""
        return max((self.link_s(server, other, start_s) for other in self.topology.neighbours[server]), default=0.0)

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

    def iteration_s(self, server: int, clients: Sequence[int], deadline_s: float) -> float:
        """How long an iteration of a cluster lasts when nothing changes over time, T_iter[d]."""
        slowest = max(self.downlink_s(client, 0.0) + deadline_s + self.uplink_s(client, 0.0) for client in clients)
        return slowest + self.exchange_s(server, 0.0)
