"""A broadcast adds up: the sum of the plain way to the last bit, whatever comes first, and little is held."""

import asyncio
import gc
import random
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncfeel import folding
from asyncfeel.folding import Folding
from asyncfeel.jobs import Broadcast, Ready, Update
from asyncfeel.learning.executors.stub import Stub
from asyncfeel.theory import aggregation


class Result(np.ndarray):
    """An array that can be watched."""


def broadcast(clients, factors=None, **options):
    numbers = np.arange(clients)
    weights = [1 / clients] * clients if factors is None else factors
    return Broadcast(np.zeros(3), numbers, numbers * 0, numbers + 1, lambda: weights, **options)


def result(place):
    return np.full(3, 0.1 + place / 7).view(Result)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_the_sum_does_not_depend_on_the_order_of_the_results(factors, rng: random.Random):
    work = broadcast(len(factors), factors, measure_loss=True)
    taken, order = Folding(work), list(range(len(factors)))
    rng.shuffle(order)
    for place in order:
        taken.take(place, Update(result(place), float(place)))
    gathered = taken.gathered()
    wanted = aggregation.change(work.model, map(result, range(len(factors))), factors)
    assert gathered.change.tolist() == wanted.tolist()
    assert list(gathered.losses) == [float(place) for place in range(len(factors))]
    assert not gathered.updates


def test_only_results_that_came_too_early_are_held():
    taken, alive = Folding(broadcast(100)), []

    def take(place):
        made = result(place)
        alive.append(weakref.ref(made))
        taken.take(place, Update(made))

    def held():
        gc.collect()
        return sum(one() is not None for one in alive)

    for place in range(40):
        take(place)
        assert held() == 0
    for place in (42, 41, 45):
        take(place)
    assert held() == 3
    take(40)
    assert held() == 1


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=9), st.booleans(), st.randoms(use_true_random=False))
def test_results_in_memory_that_is_used_again_add_up_to_the_same(factors, keep, rng: random.Random):
    work, room = broadcast(len(factors), factors, keep=keep), np.zeros(3)
    taken, order = Folding(work, lambda update: Update(update.model.copy())), list(range(len(factors)))
    rng.shuffle(order)
    for place in order:
        room[:] = result(place)
        taken.take(place, Update(room))
        room[:] = np.nan
    gathered = taken.gathered()
    wanted = aggregation.change(work.model, map(result, range(len(factors))), factors)
    assert gathered.change.tolist() == wanted.tolist()
    kept = [update.model[0] for update in gathered.updates]
    assert kept == [result(place)[0] for place in range(len(factors))] * keep


def test_results_are_kept_if_they_are_wanted_one_by_one():
    taken = Folding(broadcast(2, keep=True))
    for place in (1, 0):
        taken.take(place, Update(result(place)))
    assert [update.model[0] for update in taken.gathered().updates] == [result(0)[0], result(1)[0]]


def test_a_missing_result_is_an_error():
    taken = Folding(broadcast(3))
    taken.take(1, Update(result(1)))
    with pytest.raises(RuntimeError, match="3 results of a broadcast are missing"):
        taken.gathered()


def test_an_executor_that_knows_single_jobs_only_will_do():
    class Single:
        def submit(self, job):
            return Ready(Update(job.model + job.steps))

    async def main():
        return await folding.start(Single(), broadcast(4))

    assert asyncio.run(main()).change.tolist() == [2.5] * 3


def test_a_plan_never_looks_at_a_client():
    work = Broadcast(0.0, None, None, None, None)  # type: ignore[arg-type]

    async def main():
        return await folding.start(Stub(), work)

    assert asyncio.run(main()).change == 0.0
