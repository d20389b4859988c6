"""The clock: time stands still for real work, results enter in the order of the joins."""

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel.errors import Stalled
from asyncfeel.jobs import Ready, Update
from asyncfeel.world.clock import Clock


def later(clock, delay_s, name, seen, wait):
    """A process that joins real work after a simulated delay."""
    yield clock.timeout(delay_s)
    updates = yield clock.join([asyncio.ensure_future(wait(name))])
    seen.append((clock.now, updates[0].model))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0]), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_results_enter_at_their_simulated_time_in_the_order_of_the_joins(delays, rng: random.Random):
    seen = []

    async def wait(name):
        await asyncio.sleep(rng.random() / 1000)
        return Update(name)

    async def main():
        clock = Clock()
        for name, delay_s in enumerate(delays):
            clock.process(later(clock, delay_s, name, seen, wait))
        clock.process(ticking(clock))
        await clock.advance(3.0)

    asyncio.run(main())
    assert seen == sorted((delay_s, name) for name, delay_s in enumerate(delays))


def ticking(clock):
    while True:
        yield clock.timeout(0.25)


def test_time_does_not_move_while_a_join_is_open():
    moments = []

    def watcher(clock):
        while True:
            yield clock.timeout(0.1)
            moments.append(clock.now)

    async def slow():
        await asyncio.sleep(0.02)
        assert max(moments) <= 1.0 + 1e-9
        return Update("done")

    def joiner(clock):
        yield clock.timeout(1.0)
        yield clock.join([asyncio.ensure_future(slow())])

    async def main():
        clock = Clock()
        clock.process(watcher(clock))
        clock.process(joiner(clock))
        await clock.advance(2.0)

    asyncio.run(main())
    assert max(moments) > 1.5


def test_an_event_at_the_limit_still_happens_and_a_later_one_does_not():
    happened = []

    def process(clock, at):
        yield clock.timeout(at)
        yield clock.join([Ready(Update(at))])
        happened.append(at)
        yield clock.timeout(100)

    clock = Clock()
    for at in (1.0, 2.0, 2.0000001):
        clock.process(process(clock, at))
    asyncio.run(clock.advance(2.0))
    assert happened == [1.0, 2.0]


def test_a_deadlock_is_an_error_even_before_the_limit():
    clock = Clock()

    def process():
        yield clock.event()

    clock.process(process())
    with pytest.raises(Stalled, match="wait for each other"):
        asyncio.run(clock.advance(10.0))


def test_an_error_in_real_work_comes_out_of_advance():
    async def broken():
        raise ValueError("no gradient")

    async def main():
        clock = Clock()

        def process():
            yield clock.join([asyncio.ensure_future(broken())])

        clock.process(process())
        await clock.advance(1.0)

    with pytest.raises(ValueError, match="no gradient"):
        asyncio.run(main())


def test_stop_ends_before_the_next_event():
    clock, happened = Clock(), []

    def process():
        while True:
            yield clock.timeout(1.0)
            happened.append(clock.now)
            if clock.now == 3.0:
                clock.stop()

    clock.process(process())
    asyncio.run(clock.advance(10.0))
    assert happened == [1.0, 2.0, 3.0]


def test_poll_may_end_the_run():
    clock = Clock()
    clock.process(ticking(clock))

    def poll():
        if clock.now > 1:
            raise KeyError("enough")

    with pytest.raises(KeyError):
        asyncio.run(clock.advance(10.0, poll))
    assert clock.now == 1.25
