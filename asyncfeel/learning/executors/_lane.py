"""A lane: jobs that one worker trains as a stack, each dropping out when its steps are done.

Jobs that share a lane share the batch size, the proximal pull, and whether their learning rate is the
plain one: so what is computed for a job, and how, never depends on its neighbours.
"""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch
from torch import Tensor

from asyncfeel.errors import Interrupted
from asyncfeel.jobs import Job, Update
from asyncfeel.learning.learner import Learner
from asyncfeel.learning.local import Trainer
from asyncfeel.learning.samples import Room

NOTHING = torch.empty(0)


@dataclass(eq=False)
class Ticket:
    """A job under way: what is left of it, and who gets its result."""

    job: Job
    deliver: Callable[[Update], None]
    lane: "Lane | None" = None
    left: int = 0
    """Steps that are still to be done."""
    done: bool = False
    loss: float | None = None
    rows: Tensor = NOTHING
    moves: Tensor | None = None
    model: Tensor | None = None
    """Its result, once its steps are done."""

    def finish(self, update: Update) -> None:
        """Hand the result over, and keep nothing: small pieces left behind would break up the memory for models."""
        self.done = True
        self.rows, self.moves, self.model = NOTHING, None, None
        self.deliver(update)


class Lane:
    """One stack with the jobs in it, and those that wait for a place."""

    def __init__(self, learner: Learner, batch: int, places: int, stop: threading.Event) -> None:
        self._stack = learner.stack()
        self._feed = learner.feed
        self._batch = batch
        self._most = places
        self._stop = stop
        self._make_trainer: Callable[[], Trainer] = lambda: learner.trainer(stop)
        self._trainer: Trainer | None = None
        self._room = Room()
        self._inside: list[Ticket] = []
        self._waiting: deque[Ticket] = deque()
        self.load = 0
        """Steps that are still to be done by all its jobs."""

    def add(self, ticket: Ticket) -> None:
        """Take a job; it begins when the lane is told to go on."""
        ticket.lane, ticket.left = self, ticket.job.steps
        self._waiting.append(ticket)
        self.load += ticket.left

    @property
    def idle(self) -> bool:
        """Whether it has no job; one without steps is a job too."""
        return not self._inside and not self._waiting

    def steps_to(self, needed: Collection[Ticket]) -> int:
        """The steps after which these jobs are done, if all that wait find a place."""
        return max((ticket.left for ticket in needed if ticket.lane is self), default=0)

    def advance(self, needed: Collection[Ticket], steps: int) -> None:
        """Train all jobs for so many steps, and on until the needed ones are done."""
        own = {id(ticket): ticket for ticket in needed if ticket.lane is self and not ticket.done}
        self._waiting = deque(sorted(self._waiting, key=lambda ticket: id(ticket) not in own))
        while steps > 0 or any(not ticket.done for ticket in own.values()):
            self._admit()
            if not self._inside:
                return
            steps -= self._run(steps if steps > 0 else self.steps_to(own.values()))

    def _admit(self) -> None:
        """Give free places to jobs that wait."""
        new: list[Ticket] = []
        while self._waiting and len(self._inside) + len(new) < self._most:
            ticket = self._waiting.popleft()
            if ticket.job.probe or not ticket.job.steps:
                self._alone(ticket)
                continue
            if ticket.job.measure_loss:
                ticket.loss = self._one().measure(ticket.job)
            new.append(ticket)
        for ticket, rows in zip(new, self._feed.rows_each([ticket.job for ticket in new]), strict=True):
            ticket.rows, ticket.moves = rows, self._feed.moves(ticket.job)
        needed = len(self._inside) + len(new)
        if needed > self._stack.places:
            self._stack.reserve(min(self._most, max(needed, 2 * self._stack.places)))
        for _, group in itertools.groupby(new, key=lambda ticket: id(ticket.job.model)):
            self._load([*group])

    def _load(self, tickets: list[Ticket]) -> None:
        """Put jobs that start from one model into the next places."""
        jobs = [ticket.job for ticket in tickets]
        rates, pulls = [job.rate for job in jobs], [job.proximal for job in jobs]
        self._stack.load(len(self._inside), len(jobs), jobs[0].model, rates, pulls)
        self._inside += tickets

    def _alone(self, ticket: Ticket) -> None:
        """Train a job that asks for more than steps by itself."""
        update = self._one().train(ticket.job)
        self.load -= ticket.left
        ticket.left = 0
        ticket.finish(update)

    def _one(self) -> Trainer:
        self._trainer = self._trainer or self._make_trainer()
        return self._trainer

    def _run(self, most: int) -> int:
        """Train what is inside for at most so many steps; less, if places become free that others wait for."""
        lefts = sorted(ticket.left for ticket in self._inside)
        steps = min(most, lefts[len(lefts) // 4] if self._waiting else lefts[-1])
        self._order(steps)
        self._stack.focus(len(self._inside))
        actives = [sum(left > step for left in lefts) for step in range(steps)]
        rows, moves = self._ahead(steps)
        for first, counts in self._portions(actives):
            self._train(counts, _laid(rows, first, counts), None if moves is None else _laid(moves, first, counts))
        self._leave(steps)
        return steps

    def _ahead(self, steps: int) -> tuple[Tensor, Tensor | None]:
        """The rows (and moves) of all jobs for so many steps: (steps, jobs, batch)."""
        rows = _block([ticket.rows[ticket.job.steps - ticket.left :][:steps] for ticket in self._inside], steps)
        moves = [t.moves[t.job.steps - t.left :][:steps] for t in self._inside if t.moves is not None]
        return rows, _block(moves, steps) if moves else None

    def _order(self, steps: int) -> None:
        """Move the jobs that end within so many steps to the end, the first to end last."""
        inside = self._inside
        ending = sorted((ticket for ticket in inside if ticket.left <= steps), key=lambda ticket: -ticket.left)
        for place, ticket in enumerate(ending, start=len(inside) - len(ending)):
            now = inside.index(ticket)
            self._stack.swap(place, now)
            inside[place], inside[now] = inside[now], inside[place]

    def _portions(self, actives: list[int]) -> list[tuple[int, list[int]]]:
        """The steps in portions whose inputs are gathered at once: the first step, and the jobs at each."""
        most = self._feed.at_once(self._batch)
        portions: list[tuple[int, list[int]]] = []
        room = 0
        for step, active in enumerate(actives):
            if active > room:
                portions.append((step, []))
                room = max(most, active)
            portions[-1][1].append(active)
            room -= active
        return portions

    def _train(self, counts: list[int], rows: Tensor, moves: Tensor | None) -> None:
        """Train some consecutive steps, of which each has so many jobs."""
        inputs, labels = self._feed.gather(rows, moves, self._room)
        alike = [(count, sum(1 for _ in group)) for count, group in itertools.groupby(counts)]
        sizes = [count * steps * self._batch for count, steps in alike]
        pieces = zip(alike, torch.split(inputs, sizes), torch.split(labels, sizes), strict=True)
        for (count, steps), some, theirs in pieces:
            if self._stop.is_set():
                raise Interrupted("training was interrupted")
            if count != self._stack.active:
                self._keep(count)
                self._stack.focus(count)
            self._stack.descend(some, theirs, steps)

    def _keep(self, count: int) -> None:
        """Take the results of the jobs that end here: only the first so many places are looked after from now on."""
        for place in range(count, self._stack.active):
            self._inside[place].model = self._stack.read(place)

    def _leave(self, steps: int) -> None:
        """Count the steps as done and hand over the jobs that have ended."""
        self.load -= sum(min(steps, ticket.left) for ticket in self._inside)
        for ticket in self._inside:
            ticket.left = max(0, ticket.left - steps)
        while self._inside and not self._inside[-1].left:
            ticket = self._inside.pop()
            model = self._stack.read(len(self._inside)) if ticket.model is None else ticket.model
            ticket.finish(Update(model, ticket.loss))


def _block(draws: list[Tensor], steps: int) -> Tensor:
    """The draws of several jobs side by side, step by step; those that end sooner leave zeros."""
    if all(len(draw) == steps for draw in draws):
        return torch.stack(draws, dim=1)
    block = draws[0].new_zeros(steps, len(draws), *draws[0].shape[1:])
    for place, draw in enumerate(draws):
        block[: len(draw), place] = draw
    return block


def _laid(block: Tensor, first: int, counts: list[int]) -> Tensor:
    """The draws of some consecutive steps in the order in which they are trained: job after job within each step."""
    some = block[first : first + len(counts)]
    if counts[0] == counts[-1]:
        return some[:, : counts[0]].flatten(0, 1)
    return torch.cat([step[:count] for step, count in zip(some, counts, strict=True)])
