"""What a run costs the world: models moved over each kind of link, and how busy the clients are."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from asyncfeel.theory.latency import Counts, Floats

Link = Literal["uplink", "downlink", "exchange", "cloud"]
Outcome = Literal["arrived", "failed", "broken"]
"""How a transfer ends: with the model there, in vain though the whole of it was sent, or before that."""
LINKS: tuple[Link, ...] = ("uplink", "downlink", "exchange", "cloud")


@dataclass(frozen=True, slots=True, eq=False)
class Spell:
    """What keeps some clients busy: each from a second on for so long; over a link if it is a transfer."""

    start_s: float | Floats
    seconds: Floats
    link: Link | None = None
    clients: Counts | None = None
    """Who they are."""
    outcome: Outcome = "arrived"

    @property
    def moves(self) -> Link | None:
        """The link over which whole models move, if any do."""
        return None if self.outcome == "broken" else self.link

    def busy_s(self, end_s: float) -> float:
        """The clients' busy seconds up to then."""
        return float(np.clip(end_s - self.start_s, 0.0, self.seconds).sum())

    def over(self, end_s: float) -> int:
        """How many of the clients are through with it by then."""
        return int((self.start_s + self.seconds <= end_s).sum())


class Watch(Protocol):
    """Whoever wants to know who is busy with what, and what the servers are doing."""

    def busy(
        self, clients: Counts, start_s: Floats, seconds: Floats, link: Link | None, outcome: Outcome = "arrived"
    ) -> None:
        """Clients start something at their seconds: a transfer over a link, or a computation."""
        ...

    def interrupted(self, client: int, now: float) -> None:
        """A client drops what it was doing."""
        ...

    def turned(self, server: int, phase: str, now: float) -> None:
        """A server enters a phase."""
        ...


class Traffic:
    """Counts transfers as they complete, and the seconds in which clients compute or transfer."""

    def __init__(self, model_bits: float, clients: int) -> None:
        self._model_bits = model_bits
        self._moved: Counter[Link] = Counter()
        self._busy_s = 0.0
        self._busy_until = np.zeros(clients)
        self._under_way: dict[Spell, None] = {}
        self.watch: Watch | None = None
        """Who is told of every spell, if anybody is."""

    def move(self, link: Link, models: int = 1) -> None:
        """Note that models have crossed a kind of link."""
        self._moved[link] += models

    def begin(self, spell: Spell) -> Spell:
        """Note that a spell of many clients is under way."""
        self._under_way[spell] = None
        if self.watch is not None and spell.clients is not None:
            start_s = np.broadcast_to(spell.start_s, len(spell.clients))
            self.watch.busy(spell.clients, start_s, spell.seconds, spell.link, spell.outcome)
        return spell

    def end(self, spell: Spell) -> None:
        """Note that all clients are through with a spell."""
        del self._under_way[spell]
        self._busy_s += float(spell.seconds.sum())
        if spell.moves:
            self.move(spell.moves, len(spell.seconds))

    def busy(
        self, client: int, start_s: float, seconds: float, link: Link | None = None, outcome: Outcome = "arrived"
    ) -> None:
        """Note that a single client starts something that keeps it busy for so long."""
        self._busy_s += seconds
        self._busy_until[client] = start_s + seconds
        if self.watch is not None:
            self.watch.busy(np.array([client]), np.array([start_s]), np.array([seconds]), link, outcome)

    def interrupt(self, client: int, now: float) -> None:
        """Note that a single client drops what it was doing."""
        self._busy_s -= max(0.0, float(self._busy_until[client]) - now)
        self._busy_until[client] = now
        if self.watch is not None:
            self.watch.interrupted(client, now)

    def total_bytes(self, end_s: float) -> dict[str, float]:
        """The bytes moved over each kind of link by then, which is the end of the run."""
        moved = self._moved.copy()
        for spell in self._under_way:
            if spell.moves:
                moved[spell.moves] += spell.over(end_s)
        return {f"{link}_bytes": moved[link] * self._model_bits / 8 for link in LINKS}

    def idle_share(self, clients: int, end_s: float) -> float | None:
        """The share of the clients' time up to `end_s` in which they neither compute nor transfer."""
        if not clients or not end_s:
            return None
        under_way_s = sum(spell.busy_s(end_s) for spell in self._under_way)
        ahead_s = float(np.maximum(0.0, self._busy_until - end_s).sum())
        return max(0.0, 1 - (self._busy_s + under_way_s - ahead_s) / (clients * end_s))
