"""What a run costs the world: models moved over each kind of link, and how busy the clients are."""

from collections import Counter
from typing import Literal

Link = Literal["uplink", "downlink", "exchange", "cloud"]
LINKS: tuple[Link, ...] = ("uplink", "downlink", "exchange", "cloud")


class Traffic:
    """Counts transfers as they complete, and the seconds in which clients compute or transfer."""

    def __init__(self, model_bits: float) -> None:
        self._model_bits = model_bits
        self._moved: Counter[Link] = Counter()
        self._busy_s = 0.0
        self._busy_until: dict[int, float] = {}

    def move(self, link: Link, models: int = 1) -> None:
        """Note that models have crossed a kind of link."""
        self._moved[link] += models

    def busy(self, client: int, start_s: float, seconds: float) -> None:
        """Note that a client starts something that keeps it busy for so long."""
        self._busy_s += seconds
        self._busy_until[client] = start_s + seconds

    def interrupt(self, client: int, now: float) -> None:
        """Note that a client drops what it was doing."""
        self._busy_s -= max(0.0, self._busy_until.get(client, now) - now)
        self._busy_until[client] = now

    def total_bytes(self) -> dict[str, float]:
        """The bytes moved over each kind of link."""
        return {f"{link}_bytes": self._moved[link] * self._model_bits / 8 for link in LINKS}

    def idle_share(self, clients: int, end_s: float) -> float | None:
        """The share of the clients' time up to `end_s` in which they neither compute nor transfer."""
        if not clients or not end_s:
            return None
        ahead_s = sum(max(0.0, until - end_s) for until in self._busy_until.values())
        return max(0.0, 1 - (self._busy_s - ahead_s) / (clients * end_s))
