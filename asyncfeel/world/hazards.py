"""What may go wrong in a world, as a scenario says it: settings only, drawn from when it comes to it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from asyncfeel.streams import uniforms
from asyncfeel.theory.latency import Counts, Floats
from asyncfeel.world.presence import ALWAYS, Presence

Key = Callable[..., int]
"""From a purpose, and perhaps a number, to the key of its stream."""


def _key(*names: str | int) -> int:
    return 1


@dataclass(frozen=True)
class Hazards:
    """The odds of clients, uploads, servers and links."""

    availability: Presence = ALWAYS
    """Of the clients."""
    servers: Presence = ALWAYS
    links: Presence = ALWAYS
    """In the order of the topology's links."""
    crash: float = 0.0
    """The probability that a client crashes in a job."""
    upload_failure: float = 0.0
    """The probability that an attempt at an upload fails."""
    upload_attempts: int = 3
    """How often an upload is tried at most."""
    key: Key = field(default=_key, repr=False)
    """Names the streams of crashes and of uploads."""

    @property
    def any(self) -> bool:
        """Whether anything can go wrong at all."""
        present = all(one is ALWAYS for one in (self.availability, self.servers, self.links))
        return not present or self.crash > 0 or self.upload_failure > 0

    def crashes_at(self, clients: Counts, jobs: Counts) -> Floats:
        """The share of its job after which each client crashes; infinity for those that do not."""
        if not self.crash:
            return np.full(len(clients), np.inf)
        drawn, share = uniforms(self.key("crash"), clients, jobs)
        return np.where(drawn < self.crash, share, np.inf)

    def upload_fails(self, clients: Counts, jobs: Counts, attempt: int) -> "np.typing.NDArray[np.bool_]":
        """Whether this attempt of each client fails."""
        if not self.upload_failure:
            return np.zeros(len(clients), dtype=np.bool_)
        return np.asarray(uniforms(self.key("upload", attempt), clients, jobs)[0] < self.upload_failure)


NONE = Hazards()
"""The paper's world, in which nothing goes wrong."""
