"""SAFA (Wu et al. 2020): rounds that close at a quota; clients with tolerable lag keep their own work."""

import itertools
import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import simpy

from asyncfeel.algorithms._one_server import OneServer
from asyncfeel.errors import InputError
from asyncfeel.jobs import Model
from asyncfeel.theory.mixing import combine
from asyncfeel.world import arrivals
from asyncfeel.world.arrivals import Arrival
from asyncfeel.world.client import Client
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Steps


@dataclass(frozen=True)
class Safa(OneServer):
    """Round t closes once a quota of updates is picked, or at T_lim; W = sum_i (n_i / n) w*_i over a cache.

    Up-to-date clients (finished in round t - 1) and deprecated ones (lag above tau) take the global
    model; the others go on with their own work. Picks are compensatory first-come-first-merge:
    clients not picked in the last round first, then by arrival. Picked updates enter the cache
    before the aggregation, the undrafted ones after it.
    """

    tau: int = 5
    """Lag tolerance: rounds that a client may be behind before it must take the global model."""
    fraction: float = 0.5
    """The quota as a share of the clients."""
    T_lim_s: float | None = None
    """The longest that a round may last; left out: until nobody is left to wait for."""
    crash: float = 0.0
    """The probability that a client loses a job when it is done."""
    local_steps: int | None = None
    """Steps of each job; left out: training.local_steps."""

    def start(self, federation: Federation) -> None:
        """Start the rounds."""
        federation.job_steps("local_steps", self.local_steps)
        if not 0 < self.fraction <= 1 or not 0 <= self.crash < 1 or self.tau < 0:
            raise InputError(
                "algorithm.fraction must be in (0, 1], crash in [0, 1) and tau at least 0, "
                f"not {self.fraction}, {self.crash} and {self.tau}"
            )
        if self.T_lim_s is not None and self.T_lim_s <= 0:
            raise InputError(f"algorithm.T_lim_s must be above 0, not {self.T_lim_s}")
        federation.clock.process(self.serve(federation))

    def serve(self, federation: Federation) -> Steps:
        """The life of the server: distribute, collect up to the quota, aggregate the cache."""
        (server,) = federation.servers
        fleet = _Fleet(self, federation)
        total = int(server.samples.sum())
        share = {client.number: client.samples / total for client in server.clients}
        cache: dict[int, Model] = {client.number: server.model for client in server.clients}
        quota, last = max(1, math.ceil(self.fraction * len(server.clients) - 1e-9)), set[int]()
        for number in itertools.count(1):
            fleet.distribute(number)
            picked, undrafted = yield from fleet.collect(quota, last)
            yield from server.ready()
            updates = yield from federation.join_each([arrival.upload for arrival in picked + undrafted])
            sound = [(a.upload.client, w) for a, w in zip(picked + undrafted, updates, strict=True) if not w.diverged]
            before = {arrival.upload.client for arrival in picked}
            cache |= {client: update.model for client, update in sound if client in before}
            federation.mix({0: combine([(share[client], model) for client, model in cache.items()])}, {})
            cache |= {client: update.model for client, update in sound if client not in before}
            last = before
            if picked:
                arrivals.count(federation, picked, [share[arrival.upload.client] for arrival in picked])
            else:
                federation.count([], [0], {})


class _Fleet:
    """The clients of a run of SAFA: what each works on, and the round in which it finished last."""

    def __init__(self, rules: Safa, federation: Federation) -> None:
        self._rules = rules
        self._federation = federation
        self._server = federation.servers[0]
        self._inbox = simpy.Store(federation.clock)
        self._finished = {client.number: 0 for client in self._server.clients}
        self._base: dict[int, tuple[Model, int]] = {}
        self._at_work: dict[int, simpy.Process] = {}

    def distribute(self, number: int) -> None:
        """Give the global model to up-to-date and deprecated clients; let crashed ones try again."""
        arrived = {arrival.upload.client for arrival in self._inbox.items if arrival is not None}
        for client in self._server.clients:
            if client.number in arrived:
                continue  # its upload came at the instant at which the last round closed: it counts in this one
            lag = (number - 1) - self._finished[client.number]
            if lag == 0 or lag > self._rules.tau:
                self._stop(client)
                self._base[client.number] = (self._server.model, self._federation.iteration)
            if client.number not in self._at_work:
                self._at_work[client.number] = self._federation.clock.process(self._work(client))

    def collect(self, quota: int, last: set[int]) -> Generator[simpy.Event, Any, tuple[list[Arrival], list[Arrival]]]:
        """Wait for the quota of clients that were not picked last, the time limit, or everybody.

        What is missing to the quota is filled up with the others, in the order of arrival.
        """
        clock, limit_s = self._federation.clock, self._rules.T_lim_s
        over = clock.timeout(limit_s) if limit_s is not None else clock.event()
        picked: list[Arrival] = []
        waiting: list[Arrival] = []
        while len(picked) < quota and (self._at_work or self._inbox.items):
            request = self._inbox.get()
            yield request | over
            if not request.triggered:
                request.cancel()
                break
            arrival = request.value
            if arrival is None:
                continue
            self._finished[arrival.upload.client] = self._federation.iteration + 1
            (waiting if arrival.upload.client in last else picked).append(arrival)
        missing = quota - len(picked)
        return picked + waiting[:missing], waiting[missing:]

    def _work(self, client: Client) -> Generator[simpy.Event, Any, None]:
        """One job of a client from its base model; a crash loses it, a forced synchronisation ends it."""
        federation, rules = self._federation, self._rules
        model, version = self._base[client.number]
        started_s, steps = federation.clock.now, federation.job_steps("local_steps", rules.local_steps)
        try:
            yield from client.appear(steps)
            upload = yield from client.train_steps(model, steps)
        except simpy.Interrupt:
            federation.traffic.interrupt(client.number, federation.clock.now)
            return
        del self._at_work[client.number]
        crashed = rules.crash > 0 and federation.draw("crash", client.number, client.jobs).random() < rules.crash
        if upload is None or crashed:
            if crashed and federation.faults:
                now = federation.clock.now
                federation.faults.log.one("crash", client.number, now, now - started_s, job=client.jobs - 1)
            self._inbox.put(None)
        else:
            self._inbox.put(Arrival(upload, model, version, started_s, federation.clock.event()))

    def _stop(self, client: Client) -> None:
        process = self._at_work.pop(client.number, None)
        if process is not None:
            process.interrupt()
