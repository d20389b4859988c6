"""What all systems with a single server share: where it is, and whom it reaches."""

from dataclasses import dataclass

from asyncfeel.jobs import Gathered
from asyncfeel.theory.aggregation import data_shares
from asyncfeel.world.cohort import Uploads
from asyncfeel.world.federation import Federation
from asyncfeel.world.layout import Layout, Place, one_server
from asyncfeel.world.records import Merged


@dataclass(frozen=True)
class OneServer:
    """A system with one server, in the cloud for all clients or at the edge for one cluster."""

    server: Place = "cloud"
    """Where the server is: in the cloud, for all clients, or at the edge, for one cluster."""
    cluster: int = 0
    """Whose cluster it is, when the server is at the edge."""

    def layout(self, world: Layout) -> Layout:
        """One server for everybody, or for one cluster."""
        return one_server(world, self.server, self.cluster)

    def objective(self, federation: Federation) -> list[float]:
        """One server, so one weight."""
        return [1.0]


def merged(uploads: Uploads, gathered: Gathered) -> list[Merged]:
    """The record of clients that were merged by their data, each fresh; those that were left out count 0."""
    samples = uploads.samples.copy()
    samples[[place for place, _ in gathered.diverged]] = 0
    shares = data_shares(samples.tolist(), []) if samples.any() else [0.0] * len(samples)
    return [Merged(client, 0, share) for client, share in zip(uploads.clients.tolist(), shares, strict=True)]
