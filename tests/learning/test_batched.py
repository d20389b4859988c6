"""Stacks: what models learn together is what they learn alone, for every kind of layer and job."""

import asyncio
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from asyncfeel.errors import Interrupted
from asyncfeel.folding import Folding
from asyncfeel.jobs import Broadcast, Job, Update
from asyncfeel.learning import models, partition
from asyncfeel.learning.datasets import builtin, quadratics
from asyncfeel.learning.executors import _lane, auto
from asyncfeel.learning.executors._helper import can_fork
from asyncfeel.learning.executors.auto import Auto
from asyncfeel.learning.executors.batched import Batched
from asyncfeel.learning.executors.serial import Serial
from asyncfeel.learning.intraop import one_thread
from asyncfeel.learning.partition import Partition
from asyncfeel.learning.stacked.chain import chain
from asyncfeel.learning.stacked.stack import reason


class Residual(nn.Module):
    """A block with a branch around it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 6, 3, padding=1)
        self.second = nn.Conv2d(6, 6, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(6)
        self.end = nn.Linear(6, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.first(x))
        return self.end((x + self.norm(self.second(x))).mean(dim=(2, 3)))


class Words(nn.Module):
    """Pixels as words of a small vocabulary."""

    def __init__(self, padding: int | None) -> None:
        super().__init__()
        self.table = nn.Embedding(17, 5, padding_idx=padding)
        self.end = nn.Linear(64 * 5, 10)

    def forward(self, x: Tensor) -> Tensor:
        words = (x.flatten(1) * 4).long().clamp(-8, 8) + 8
        return self.end(self.table(words).flatten(1))


class Tied(nn.Module):
    """One layer used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.end = nn.Linear(64, 64), nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.end(torch.tanh(self.inner(torch.tanh(self.inner(x.flatten(1))))))


class Mixing(nn.Module):
    """Samples that look at each other."""

    def __init__(self) -> None:
        super().__init__()
        self.end = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        return self.end(x - 0.5 * x.mean(dim=0))


def sequence(*parts: nn.Module) -> nn.Module:
    return nn.Sequential(*parts, nn.Flatten(), nn.LazyLinear(10))


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "dense": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 10)),
    "dense without bias": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(64, 20, bias=False), nn.ReLU(), nn.Linear(20, 10)
    ),
    "dense, two in a row": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 20), nn.Linear(20, 10)),
    "dense, not a chain": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 20), nn.Tanh(), nn.Linear(20, 10)),
    "dense along the last axis": lambda: nn.Sequential(nn.Linear(8, 4), nn.Flatten(), nn.Linear(32, 10)),
    "one layer, tied": Tied,
    "convolution": lambda: sequence(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU()),
    "convolution with stride, dilation, no bias": lambda: sequence(
        nn.Conv2d(1, 4, 3, stride=2, dilation=2, padding=(2, 1), bias=False)
    ),
    "convolution in groups": lambda: sequence(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 8, 3, groups=2)),
    "convolution in one dimension": lambda: sequence(nn.Flatten(2), nn.Conv1d(1, 3, 5, padding="same")),
    "pooling": lambda: sequence(nn.Conv2d(1, 4, 3), nn.MaxPool2d(2), nn.AvgPool2d(2)),
    "batch norm": lambda: sequence(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU()),
    "batch norm without weights": lambda: sequence(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, affine=False)),
    "batch norm without statistics": lambda: sequence(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, track_running_stats=False)),
    "batch norm of features": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(64, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 10)
    ),
    "group norm": lambda: sequence(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU()),
    "group norm without weights": lambda: sequence(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4, affine=False)),
    "layer norm": lambda: sequence(nn.LayerNorm((8, 8))),
    "layer norm without bias": lambda: sequence(nn.LayerNorm(8, bias=False)),
    "embedding": lambda: Words(None),
    "embedding with padding": lambda: Words(8),
    "residual block": Residual,
}


def built(kind: str) -> Callable[[tuple[int, ...], int], nn.Module]:
    def make(shape: tuple[int, ...], outputs: int) -> nn.Module:
        module = LAYERS[kind]()
        module(torch.zeros(2, 1, *shape[:2]))
        return module

    return make


def trained(executor, jobs) -> list[Update]:
    async def everything() -> list[Update]:
        return [await waiting for waiting in [executor.submit(job) for job in jobs]]

    try:
        return asyncio.run(everything())
    finally:
        executor.close()


def jobs_for(start: Tensor, count: int = 9, **options) -> list[Job]:
    """Jobs of unequal length from unequal models."""
    return [Job(i % 10, i // 10, start * (1 + i / 40), 1 + (5 * i) % 7, **options) for i in range(count)]


def agree(learner, stop, jobs, workers: int = 2, tolerance: float = 2e-4) -> None:
    expected = trained(Serial(learner, 1, stop), jobs)
    found = trained(Batched(learner, workers, stop), jobs)
    for job, one, two in zip(jobs, expected, found, strict=True):
        moved = torch.linalg.vector_norm(one.model - job.model)
        assert moved > 0
        assert torch.linalg.vector_norm(one.model - two.model) <= tolerance * moved + 1e-6
        assert one.loss == two.loss


@pytest.mark.parametrize("kind", LAYERS)
def test_every_kind_of_layer_learns_as_it_does_alone(make, stop, kind):
    learner = make(built(kind))
    assert learner.unstackable is None
    agree(learner, stop, jobs_for(learner.initial()))


@pytest.mark.parametrize("options", [{}, {"proximal": 0.2}], ids=["plain", "proximal"])
@pytest.mark.parametrize("kind", LAYERS)
def test_neighbours_in_a_stack_do_not_change_a_bit(make, stop, kind, options):
    """Whoever shares the stack, in whichever place, and however many: the same job gives the same bits."""
    learner = make(built(kind), momentum=0.5 if options else 0.0)
    jobs = jobs_for(learner.initial(), 19, **options)
    with one_thread():
        expected = trained(Batched(learner, 1, stop), jobs)
        for workers, order in [(2, range(19)), (3, range(18, -1, -1)), (19, range(19)), (1, [7, 3, 11])]:
            found = trained(Batched(learner, workers, stop), [jobs[place] for place in order])
            assert all(torch.equal(expected[place].model, one.model) for place, one in zip(order, found, strict=True))


def test_unequal_rates_do_not_change_a_bit(make, stop):
    learner = make(models.mlp, weight_decay=0.02)
    start = learner.initial()
    jobs = [Job(i % 10, i, start, 3 + i % 3, rate=(1.0, 0.5, 0.3)[i % 3]) for i in range(12)]
    expected = trained(Batched(learner, 1, stop), jobs)
    alone = [trained(Batched(learner, 1, stop), [job])[0] for job in jobs]
    assert all(torch.equal(one.model, two.model) for one, two in zip(expected, alone, strict=True))


@pytest.mark.parametrize(
    "settings",
    [{"momentum": 0.9}, {"weight_decay": 0.05}, {"momentum": 0.8, "weight_decay": 0.02}, {"batch": 3}],
    ids=["momentum", "decay", "both", "batch 3"],
)
@pytest.mark.parametrize("model", [models.mlp, models.cnn, models.logistic], ids=["mlp", "cnn", "logistic"])
def test_every_kind_of_step(make, stop, model, settings):
    learner = make(model, **settings)
    start = learner.initial()
    agree(learner, stop, jobs_for(start))
    agree(learner, stop, jobs_for(start, proximal=0.3))
    agree(learner, stop, jobs_for(start, rate=0.25))
    mixed = [Job(i, 0, start, 2 + i % 3, rate=1 / (1 + i), proximal=(i % 2) * 0.2) for i in range(6)]
    agree(learner, stop, mixed)


def test_images_are_augmented_alike(make, stop, photographs):
    learner = make(models.cnn, photographs, augment=True, batch=2)
    agree(learner, stop, jobs_for(learner.initial()))


def test_points_in_space(make, stop):
    data = quadratics.generate(10, np.random.default_rng(2), 4, 30, 1.0, 0.5, 10.0)
    learner = make(models.point, data, parts=partition.natural(data.owners, 10))
    assert learner.unstackable is None
    agree(learner, stop, jobs_for(learner.initial() + 1.0))


def test_clients_with_few_samples_use_all_of_them(make, stop):
    sizes = [4, 25, 9, 40, 4, 12, 10, 300, 7, 9]
    parts = Partition(np.random.default_rng(5).permutation(sum(sizes)), np.cumsum([0, *sizes]))
    learner = make(models.mlp, parts=parts)
    agree(learner, stop, jobs_for(learner.initial(), 20))


def test_losses_and_probes_are_reported(make, stop):
    learner = make(models.mlp)
    start = learner.initial()
    agree(learner, stop, jobs_for(start, measure_loss=True))
    jobs = [Job(1, 0, start, 3, probe=True), Job(2, 0, start, 4)]
    expected, found = (trained(kind(learner, 2, stop), jobs) for kind in (Serial, Batched))
    assert found[0].probe.loss_done == expected[0].probe.loss_done
    assert torch.equal(found[0].probe.gradient_sent, expected[0].probe.gradient_sent)


def test_no_steps_leave_the_model_as_it_is(make, stop):
    learner = make(models.mlp)
    start = learner.initial()
    found = trained(Batched(learner, 2, stop), [Job(0, 0, start, 0), Job(1, 0, start, 2)])
    assert torch.equal(found[0].model, start)


def test_a_lane_with_nothing_but_jobs_without_steps_does_them(make, stop):
    learner = make(models.mlp)
    start = learner.initial()
    found = trained(Batched(learner, 2, stop), [Job(0, 0, start, 0)])
    assert torch.equal(found[0].model, start)


def test_unequal_rates_follow_their_jobs_when_places_change(make, stop):
    """The second wait moves jobs to other places without any that come or go in between."""
    learner = make(models.mlp)
    start = learner.initial()
    jobs = [Job(i, 0, start, steps, rate=1 / (1 + i)) for i, steps in enumerate((4, 9, 7, 2, 12))]
    lane = _lane.Lane(learner, 10, 8, stop)
    found: dict[int, Update] = {}
    tickets = [_lane.Ticket(job, partial(found.__setitem__, i)) for i, job in enumerate(jobs)]
    for ticket in tickets:
        lane.add(ticket)
    for steps in (1, 2, 1, 3, 5):
        lane.advance([], steps)
    for i, job in enumerate(jobs):
        assert torch.allclose(found[i].model, learner.trainer(stop).train(job).model, rtol=1e-4, atol=1e-6)


@given(st.data())
def test_any_order_of_jobs_and_waits(data):
    """Jobs come and are awaited in any order, more of them than there are places; each learns as alone."""
    learner = TASK
    start = learner.initial()
    steps = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=12))
    jobs = [Job(i % 10, i, start * (1 + i / 50), count) for i, count in enumerate(steps)]
    order = data.draw(st.permutations(range(len(jobs))))
    late = data.draw(st.integers(0, len(jobs)))
    executor = Batched(learner, data.draw(st.integers(1, 3)), EVENT)
    executor._places = data.draw(st.integers(1, 4))

    async def play() -> dict[int, Tensor]:
        waiting = {i: executor.submit(jobs[i]) for i in range(late)}
        found = {}
        for i in order:
            if i not in waiting:
                waiting |= {j: executor.submit(jobs[j]) for j in range(late, len(jobs))}
            found[i] = (await waiting[i]).model
        return found

    try:
        found = asyncio.run(play())
    finally:
        executor.close()
    for i, job in enumerate(jobs):
        expected = TRAINER.train(job).model
        assert torch.allclose(found[i], expected, rtol=1e-4, atol=1e-6)


def make_task():
    import threading

    from asyncfeel.learning.learner import Learner
    from asyncfeel.learning.settings import Training

    data = builtin.digits()
    parts = partition.iid(data.y_train, 10, np.random.default_rng(1))
    event = threading.Event()
    learner = Learner(data, parts, lambda s, o: models.mlp(s, o, hidden=7), Training(4, 0.1), 7, torch.device("cpu"))
    return learner, learner.trainer(event), event


TASK, TRAINER, EVENT = make_task()


def test_a_run_repeats_to_the_bit_whatever_the_machine_does(make, stop):
    """Which jobs share a call follows from the order of submissions and waits, not from time."""
    learner = make(models.cnn)
    start = learner.initial()

    async def play(executor, pause: float) -> list[Tensor]:
        flying = [executor.submit(job) for job in jobs_for(start, 8)]
        ends = []
        for number in range(12):
            ends.append((await flying.pop(0)).model)
            await asyncio.sleep(pause)
            flying.append(executor.submit(Job(number % 10, 5 + number, ends[-1], 1 + number % 4)))
        return ends

    outcomes = []
    for pause in (0.0, 0.003):
        executor = Batched(learner, 2, stop)
        outcomes.append(asyncio.run(play(executor, pause)))
        executor.close()
    assert all(torch.equal(one, two) for one, two in zip(*outcomes, strict=True))


def broadcast(start: Tensor, steps: list[int], **options) -> Broadcast:
    count = len(steps)
    shares = [(i + 1) / count**2 for i in range(count)]
    return Broadcast(start, np.arange(count), np.zeros(count, int), np.array(steps), lambda: shares, **options)


def test_a_broadcast_adds_up_in_the_order_of_the_clients(make, stop):
    learner = make(models.mlp)
    work = broadcast(learner.initial(), [3, 1, 4, 1, 5, 9, 2, 6], measure_loss=True, keep=True)

    async def gathered(executor):
        try:
            return await executor.broadcast(work)
        finally:
            executor.close()

    one, two = (asyncio.run(gathered(kind(learner, 2, stop))) for kind in (Serial, Batched))
    assert torch.allclose(one.change, two.change, rtol=1e-3, atol=1e-6)
    assert one.losses == two.losses
    again = Folding(work)
    for place, update in enumerate(two.updates):
        again.take(place, update)
    assert torch.equal(again.gathered().change, two.change)


@pytest.mark.parametrize(
    ("module", "fragment"),
    [
        (lambda: sequence(nn.ConvTranspose2d(1, 2, 3)), "ConvTranspose2d has no stacked form"),
        (lambda: sequence(nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular")), "padding_mode = 'circular'"),
        (lambda: sequence(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, momentum=None)), "without momentum"),
        (lambda: sequence(nn.BatchNorm2d(1, affine=False, track_running_stats=False)), "cannot tell the models apart"),
        (lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.PReLU()), "a PReLU has no stacked form"),
        (lambda: nn.Sequential(nn.Flatten(), nn.utils.parametrizations.weight_norm(nn.Linear(64, 10))), "Linear"),
        (Mixing, "treats the samples of a batch together"),
    ],
)
def test_models_that_cannot_be_stacked_are_trained_one_by_one_and_it_is_said_why(make, stop, module, fragment):
    def model(shape, outputs):
        made = module()
        made(torch.zeros(2, 1, 8, 8))
        return made

    learner = make(model)
    executor = Batched(learner, 2, stop)
    assert fragment in executor.note
    executor.close()
    jobs = jobs_for(learner.initial(), 4)
    expected, found = (trained(kind(learner, 2, stop), jobs) for kind in (Serial, Batched))
    assert all(torch.equal(one.model, two.model) for one, two in zip(expected, found, strict=True))


def test_hooks_are_noticed():
    module = nn.Sequential(nn.Linear(2, 2))
    module[0].register_forward_hook(lambda *_: None)
    assert "'0' has hooks" in reason(module)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)), False),  # not stacked layers
        (nn.Sequential(), False),
        (nn.Sequential(nn.Flatten(), nn.ReLU()), False),
    ],
)
def test_only_chains_are_chains(module, expected):
    assert (chain(module) is not None) == expected


def test_the_resnet_of_the_paper_can_be_stacked(stop):
    module = models.resnet18((32, 32, 3), 10)
    assert reason(module) is None


def test_a_run_that_is_stopped_ends_soon(make, stop):
    executor = Batched(make(models.mlp), 2, stop)
    stop.set()

    async def play() -> None:
        await executor.submit(Job(0, 0, executor._learner.initial(), 10_000))

    with pytest.raises(Interrupted):
        asyncio.run(play())
    executor.close()


def test_places_follow_the_size_of_the_model(make, stop, monkeypatch):
    monkeypatch.setattr("asyncfeel.learning.executors.batched.BYTES", 3 * 4 * 650)
    executor = Batched(make(models.logistic), 1, stop)
    assert executor._places == 3
    executor.close()


ALONE = "processes" if can_fork() else "threads"
"""What trains jobs one by one here."""


@pytest.mark.parametrize(
    ("model", "crowd", "steps", "kind", "why"),
    [
        (models.mlp, 30, 100, "batched", "by rule"),
        (models.mlp, 1, 100, "threads", "one job at a time"),
        (models.cnn, 30, 100, "batched", "by rule"),
        (partial(models.cnn, width=20), 30, 100, ALONE, "by rule"),
        (partial(models.mlp, hidden=1000), 30, 100, "batched", "by rule"),
        (lambda s, o: Mixing(), 30, 100, ALONE, "cannot be stacked"),
    ],
)
def test_auto_chooses_by_rule_for_short_runs(make, stop, model, crowd, steps, kind, why):
    executor = Auto(make(model), 2, stop, crowd, steps)
    assert executor.kind == kind
    assert why in executor.why
    executor.close()


def test_auto_measures_for_long_runs(make, stop, monkeypatch):
    monkeypatch.setattr(auto, "MOST_S", 60.0)
    monkeypatch.setattr(auto, "LONG_S", 60.0)
    executor = Auto(make(models.mlp), 2, stop, 30, 1e9)
    assert executor.why.startswith("measured steps/s: batched ")
    assert all(f"{kind} " in executor.why for kind in {ALONE, "threads"})
    learner = make(models.mlp)
    job = Job(0, 0, learner.initial(), 3)
    (found,) = trained(executor, [job])
    assert torch.allclose(found.model, learner.trainer(stop).train(job).model, atol=1e-5)


def test_auto_does_not_stack_where_a_step_takes_long(make, stop, monkeypatch):
    monkeypatch.setattr(auto, "LONG_S", 0.0)
    executor = Auto(make(models.mlp), 2, stop, 30, 1e9)
    assert (executor.kind, executor.why) == (ALONE, "a step takes so long that calls do not matter")
    executor.close()


def test_tickets_are_done_once(make, stop):
    lane = _lane.Lane(make(models.logistic), 10, 2, stop)
    start, seen = make(models.logistic).initial(), []
    tickets = [_lane.Ticket(Job(i, 0, start, 1 + i), seen.append) for i in range(5)]
    for ticket in tickets:
        lane.add(ticket)
    lane.advance(tickets, 0)
    assert len(seen) == 5
    assert lane.load == 0
    assert all(ticket.done for ticket in tickets)


def test_auto_gives_way_to_an_interruption(make, stop):
    stop.set()
    executor = Auto(make(models.mlp), 2, stop, 30, 1e9)
    assert "before it began" in executor.why
    executor.close()
