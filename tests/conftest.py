"""Tiny worlds for tests: a federation from plain numbers, trained by a plain function."""

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import settings

from asyncfeel.jobs import Job, Ready, Update
from asyncfeel.theory import staleness
from asyncfeel.world.clock import Clock
from asyncfeel.world.federation import Federation
from asyncfeel.world.hazards import NONE, Hazards
from asyncfeel.world.layout import Layout
from asyncfeel.world.network import Network
from asyncfeel.world.profiles import Profiles
from asyncfeel.world.topology import Topology

# The same examples in every run, and no limit on time: a busy machine must not fail a test.
settings.register_profile("asyncfeel", deadline=None, derandomize=True, database=None)
settings.load_profile("asyncfeel")


class Local:
    """An executor made of a plain function from a job to the client's model."""

    def __init__(self, train: Callable[[Job], Any]) -> None:
        self.train = train
        self.jobs: list[Job] = []
        self.clock: Clock | None = None
        self.starts: list[float] = []
        """When each job was handed over, in simulated seconds, where there is a clock."""

    def submit(self, job: Job) -> Ready:
        self.jobs.append(job)
        if self.clock is not None:
            self.starts.append(self.clock.now)
        return Ready(Update(self.train(job), float(job.client) if job.measure_loss else None))

    def close(self) -> None:
        pass


class Diary:
    """An observer that keeps every completion, and the models before and after it."""

    def __init__(self) -> None:
        self.completions: list[Any] = []
        self.before: list[list[Any]] = []
        self.after: list[list[Any]] = []

    def changing(self, federation: Federation) -> None:
        self.before.append([server.model for server in federation.servers])

    def completed(self, federation: Federation, completion: Any) -> None:
        self.completions.append(completion)
        self.after.append([server.model for server in federation.servers])


class World:
    """A federation with its diary, ready to be advanced."""

    def __init__(self, federation: Federation, diary: Diary, executor: Any) -> None:
        self.federation, self.diary, self.executor = federation, diary, executor

    def run(self, algorithm: Any, until: float = math.inf) -> "World":
        algorithm.start(self.federation)
        asyncio.run(self.federation.clock.advance(until))
        return self

    @property
    def models(self) -> list[Any]:
        return [server.model for server in self.federation.servers]


def make_world(
    links: Sequence[tuple[int, int]],
    clients: Sequence[tuple[int, int, float]],
    train: Callable[[Job], Any] = lambda job: job.model,
    *,
    psi: Any = None,
    iterations: int | None = None,
    local_steps: int = 1,
    initial: Any = 0.0,
    patience: Any = None,
    executor: Any = None,
    layout: Callable[[Layout], Layout] | None = None,
    draw: Callable[[int], Topology] = lambda nodes: Topology(nx.cycle_graph(nodes)),
    hazards: Hazards = NONE,
    budget_s: float = math.inf,
    **network: Any,
) -> World:
    """A world from links and clients, each client a (server, samples, flops).

    With a `layout` the clients and channels are rearranged before the federation is built; `draw` is
    the kind of graph that it may ask for.
    """
    servers = max(server for server, _, _ in clients) + 1
    graph = nx.empty_graph(servers)
    graph.add_edges_from(links)
    columns = [np.array(column) for column in zip(*clients, strict=True)]
    profiles = Profiles(columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2].astype(np.float64))
    rates = {"model_bits": 1.0, "uplink_bps": 10.0, "exchange_bps": 10.0, "flops_per_step": 1.0} | network
    arranged = Layout(profiles, Network(Topology(graph), profiles.flops, **rates), draw)
    if layout is not None:
        arranged = layout(arranged)
    clock, executor, diary = Clock(), executor or Local(train), Diary()
    if isinstance(executor, Local):
        executor.clock = clock
    federation = Federation(
        clock,
        arranged.network,
        arranged.profiles,
        psi or staleness.inverse(),
        executor,
        initial,
        local_steps,
        iterations,
        patience,
        [diary],
        budget_s=budget_s,
        hazards=hazards,
    )
    return World(federation, diary, executor)


@pytest.fixture
def world() -> Callable[..., World]:
    """A maker of tiny worlds."""
    return make_world


def run_system(
    algorithm: Any,
    clients: Sequence[tuple[int, int, float]],
    train: Callable[[Job], Any] = lambda job: job.model,
    *,
    links: Sequence[tuple[int, int]] = (),
    until: float = math.inf,
    **settings: Any,
) -> World:
    """A tiny world, arranged as the algorithm asks for, in which it has run."""
    layout = getattr(algorithm, "layout", None)
    return make_world(links, clients, train, layout=layout, **settings).run(algorithm, until)


@pytest.fixture(scope="session")
def system() -> Callable[..., World]:
    """A maker of tiny worlds in which an algorithm has run."""
    return run_system


@pytest.fixture
def local() -> type[Local]:
    """An executor made of a plain function."""
    return Local


@pytest.fixture
def ring() -> Callable[[int], list[tuple[int, int]]]:
    """The links of a ring."""
    return lambda servers: [(server, (server + 1) % servers) for server in range(servers)]
