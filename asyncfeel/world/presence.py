"""Who is there when: clients, servers and links that come and go, as columns.

Whoever is there at a second is there up to, and not including, the second at which it leaves. What
a presence says is a function of who, when and which turn alone, never of the order of questions.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from asyncfeel.theory.latency import Counts, Floats

Bools = NDArray[np.bool_]
Uniforms = Callable[[Counts, Counts], tuple[Floats, Floats]]
"""From owners and numbers to two numbers from [0, 1) for each: a named stream as columns."""


class Presence(Protocol):
    """Some things, numbered from 0, that are not always there."""

    def there(self, who: Counts, turns: Counts, now_s: float) -> Bools:
        """Whether each is there now, at its own turn: how often it was asked for before."""
        ...

    def leaves_s(self, who: Counts, now_s: float) -> Floats:
        """The second at which each that is there now goes away; never is infinity."""
        ...

    def back_s(self, who: Counts, now_s: float) -> Floats:
        """The second at which each is there again; now for those that are there, or that nobody can tell of."""
        ...


class Always:
    """Nobody ever goes away."""

    def there(self, who: Counts, turns: Counts, now_s: float) -> Bools:
        """Yes."""
        return np.ones(len(who), dtype=np.bool_)

    def leaves_s(self, who: Counts, now_s: float) -> Floats:
        """Never."""
        return np.full(len(who), np.inf)

    def back_s(self, who: Counts, now_s: float) -> Floats:
        """Now."""
        return np.full(len(who), now_s)


ALWAYS: Presence = Always()
"""Whoever knows it need not ask it."""


class Chance(Always):
    """At each turn away with a probability, and otherwise there until the turn is over."""

    def __init__(self, uniforms: Uniforms, away: float) -> None:
        self._uniforms = uniforms
        self._away = away

    def there(self, who: Counts, turns: Counts, now_s: float) -> Bools:
        """By one draw for each turn."""
        there: Bools = self._uniforms(who, turns)[0] >= self._away
        return there


class Alternating:
    """Up and down in turns, for exponential times; at second 0 in the long-run mean of the two."""

    def __init__(self, uniforms: Uniforms, count: int, mean_up_s: float, mean_down_s: float) -> None:
        self._uniforms = uniforms
        self._mean_s = np.array([mean_down_s, mean_up_s])
        everyone = np.arange(count)
        self._first = uniforms(everyone, np.zeros_like(everyone))[1] < mean_up_s / (mean_up_s + mean_down_s)
        self._spell = np.full(count, -1)
        self._start_s, self._end_s = np.zeros(count), np.zeros(count)

    def there(self, who: Counts, turns: Counts, now_s: float) -> Bools:
        """Whether each is up."""
        self._seek(who, now_s)
        return self._up(who)

    def leaves_s(self, who: Counts, now_s: float) -> Floats:
        """The end of the present spell."""
        self._seek(who, now_s)
        return self._end_s[who]

    def back_s(self, who: Counts, now_s: float) -> Floats:
        """The end of the present spell of those that are down."""
        self._seek(who, now_s)
        return np.where(self._up(who), now_s, self._end_s[who])

    def _up(self, who: Counts) -> Bools:
        up: Bools = self._first[who] ^ (self._spell[who] % 2 == 1)
        return up

    def _seek(self, who: Counts, now_s: float) -> None:
        """Go to the spell of this second: on from where a column stands, or from the beginning."""
        ahead = who[self._start_s[who] > now_s]
        self._spell[ahead], self._start_s[ahead], self._end_s[ahead] = -1, 0.0, 0.0
        behind = who[self._end_s[who] <= now_s]
        while behind.size:
            self._spell[behind] += 1
            self._start_s[behind] = self._end_s[behind]
            draws = self._uniforms(behind, self._spell[behind])[0]
            self._end_s[behind] -= self._mean_s[self._up(behind).astype(np.int64)] * np.log1p(-draws)
            behind = behind[self._end_s[behind] <= now_s]


class Intervals:
    """There in given intervals, which may repeat with a period; `owners` is in order, and so is each one's time."""

    def __init__(self, count: int, owners: Counts, from_s: Floats, until_s: Floats, period_s: float | None) -> None:
        self._from_s, self._until_s = from_s, until_s
        self._first = np.searchsorted(owners, np.arange(count + 1))
        self._period_s = period_s

    def there(self, who: Counts, turns: Counts, now_s: float) -> Bools:
        """Whether this second is in an interval."""
        place, _ = self._place(who, now_s)
        return self._inside(who, place, now_s)

    def leaves_s(self, who: Counts, now_s: float) -> Floats:
        """The end of the interval; that of the next period if it goes on there."""
        place, base_s = self._place(who, now_s)
        inside = self._inside(who, place, now_s)
        ends = np.full(len(who), np.inf)
        ends[inside] = base_s + self._until_s[place[inside]]
        if self._period_s is None:
            return ends
        first = self._first[who]
        on = inside.copy()
        on[inside] = (self._until_s[place[inside]] == self._period_s) & (self._from_s[first[inside]] == 0.0)
        ends[on] = base_s + self._period_s + self._until_s[first[on]]
        whole = on.copy()
        whole[on] = self._until_s[first[on]] == self._period_s
        ends[whole] = np.inf
        return ends

    def back_s(self, who: Counts, now_s: float) -> Floats:
        """The beginning of the next interval; never is infinity."""
        place, base_s = self._place(who, now_s)
        begins = np.full(len(who), np.inf)
        later = place + 1 < self._first[who + 1]
        begins[later] = base_s + self._from_s[place[later] + 1]
        if self._period_s is not None:
            again = ~later & (self._first[who] < self._first[who + 1])
            begins[again] = base_s + self._period_s + self._from_s[self._first[who[again]]]
        return np.where(self._inside(who, place, now_s), now_s, begins)

    def _place(self, who: Counts, now_s: float) -> tuple[Counts, float]:
        """The last interval of each that has begun (the one before its first if none has), and the period's start."""
        base_s = 0.0 if self._period_s is None else now_s // self._period_s * self._period_s
        low, high = self._first[who], self._first[who + 1]
        while (low < high).any():  # the first interval that begins later, by halving
            middle = (low + high) // 2
            open_ = low < high
            begun = np.zeros(len(who), dtype=np.bool_)
            begun[open_] = self._from_s[middle[open_]] <= now_s - base_s
            low, high = np.where(open_ & begun, middle + 1, low), np.where(open_ & ~begun, middle, high)
        return low - 1, base_s

    def _inside(self, who: Counts, place: Counts, now_s: float) -> Bools:
        base_s = 0.0 if self._period_s is None else now_s // self._period_s * self._period_s
        begun = place >= self._first[who]
        begun[begun] = now_s - base_s < self._until_s[place[begun]]
        return begun


class Opposite:
    """There when another one is not: what a list of outages says."""

    def __init__(self, outages: Intervals) -> None:
        self._outages = outages

    def there(self, who: Counts, turns: Counts, now_s: float) -> Bools:
        """Whether no outage is going on."""
        return ~self._outages.there(who, turns, now_s)

    def leaves_s(self, who: Counts, now_s: float) -> Floats:
        """The beginning of the next outage."""
        return self._outages.back_s(who, now_s)

    def back_s(self, who: Counts, now_s: float) -> Floats:
        """The end of the outage."""
        return np.where(self._outages.there(who, who, now_s), self._outages.leaves_s(who, now_s), now_s)
