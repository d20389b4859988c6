"""What the simulated world tells about itself: one frozen value per completed iteration."""

from collections.abc import Sequence
from dataclasses import dataclass

from asyncfeel.theory.mixing import Columns


@dataclass(frozen=True, slots=True)
class Trigger:
    """A server that completed an iteration: when it started, its deadline, its clients' steps."""

    server: int
    started_s: float
    deadline_s: float
    """How long its clients could compute, T_comp."""
    steps: Sequence[int]
    """The steps tau_i of its clients, in their order."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A client's result as a single server merged it: how stale it was, and how much it counted."""

    client: int
    staleness: int
    """Versions of the server's model since the one that the client downloaded."""
    weight: float


@dataclass(frozen=True, slots=True)
class Completion:
    """One global iteration: who triggered it, how stale everyone was, how the models were mixed."""

    iteration: int
    """Its number k, from 0."""
    time_s: float
    triggers: Sequence[Trigger]
    """One server, or all that completed together."""
    staleness: Sequence[int]
    """delta_k of every server, before the triggers are reset."""
    mixing: Columns
    """P_k, as its columns that differ from the identity."""
    merged: Sequence[Merged] = ()
    """Whose results a single server merged; empty where servers mix."""
