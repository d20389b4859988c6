"""Executors: the same bits from each, and none that lingers."""

import asyncio
import threading
import time

import pytest
import torch

from asyncfeel.errors import InputError, Interrupted
from asyncfeel.jobs import Job, Update
from asyncfeel.learning import models
from asyncfeel.learning.executors._pool import Pool
from asyncfeel.learning.executors.serial import Serial
from asyncfeel.learning.executors.stub import Stub
from asyncfeel.learning.executors.threads import Threads, usable


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("model", [models.mlp, models.cnn], ids=["mlp", "cnn"])
def test_threads_give_the_bits_of_serial(make, stop, model, workers: int, results):
    learner = make(model, momentum=0.5)
    start = learner.initial()
    jobs = [Job(i % 10, i // 10, start * (1 + i / 20), 2 + i % 5, measure_loss=i % 2 == 0) for i in range(15)]
    expected = results(Serial(learner, 0, stop), jobs)
    found = results(Threads(learner, workers, stop), jobs)
    for one, two in zip(expected, found, strict=True):
        assert torch.equal(one.model, two.model)
        assert one.loss == two.loss


def test_workers_compute_with_one_thread_each(make, stop):
    executor = Threads(make(), 2, stop)
    assert [executor._later(torch.get_num_threads).result() for _ in range(4)] == [1] * 4
    report = executor._later(torch.__config__.parallel_info).result()
    executor.close()
    assert "omp_get_max_threads() : 1" in report


def test_a_chain_of_jobs_is_the_same_in_both(make, stop):
    learner = make()

    async def chain(executor) -> torch.Tensor:
        model = learner.initial()
        for number in range(4):
            model = (await executor.submit(Job(number, number, model, 3))).model
        return model

    ends = []
    for executor in (Serial(learner, 1, stop), Threads(learner, 2, stop)):
        ends.append(asyncio.run(chain(executor)))
        executor.close()
    assert torch.equal(ends[0], ends[1])


def test_evaluations_can_be_awaited_or_waited_for(make, stop):
    learner = make()
    start = learner.initial()
    expected = learner.evaluate(start)
    for executor in (Serial(learner, 1, stop), Threads(learner, 2, stop)):
        pending = executor.evaluate(start)

        async def wait(pending=pending):
            return await pending

        assert asyncio.run(wait()) == expected
        assert pending.done()
        assert executor.evaluate(start).result() == expected
        executor.close()


def test_a_job_begins_when_it_is_submitted_not_when_it_is_awaited(make, stop):
    executor = Threads(make(), 1, stop)
    pending = executor.submit(Job(0, 0, executor._learner.initial(), 1))
    assert pending.result().model is not None
    assert pending.done()
    executor.close()


def test_errors_of_a_worker_reach_whoever_awaits(make, stop, results):
    learner = make()
    stop.set()
    for executor in (Serial(learner, 1, stop), Threads(learner, 2, stop)):
        with pytest.raises(Interrupted):
            results(executor, [Job(0, 0, learner.initial(), 5)])


def test_the_stop_flag_ends_a_running_job(make, stop):
    learner = make(models.cnn)
    executor = Threads(learner, 1, stop)
    pending = executor.submit(Job(0, 0, learner.initial(), 200_000))
    threading.Timer(0.1, stop.set).start()
    with pytest.raises(Interrupted):
        pending.result()
    executor.close()


def test_close_drops_jobs_that_have_not_begun_and_leaves_no_thread(make, stop):
    learner = make()
    executor = Threads(learner, 1, stop)
    pending = [executor.submit(Job(0, i, learner.initial(), 50)) for i in range(50)]
    executor.close()
    assert any(one._future.cancelled() for one in pending)
    assert all(one.done() for one in pending)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("asyncfeel")]


def test_the_stub_gives_back_what_it_was_sent():
    async def one() -> Update:
        return await Stub().submit(Job(0, 0, "model", 3))

    assert asyncio.run(one()) == Update("model")


def test_no_number_of_workers_means_the_cores_of_the_machine(make, stop):
    executor = Threads(make(), 0, stop)
    assert executor.workers == usable(torch.device("cpu")) >= 1
    executor.close()
    with pytest.raises(InputError, match="workers must be at least 0"):
        Threads(make(), -1, stop)


def test_what_is_awaited_is_done_first():
    pool, order, gate = Pool(1, "asyncfeel"), [], threading.Event()
    first = pool.submit(gate.wait)
    others = [pool.submit(lambda n=n: order.append(n)) for n in range(6)]
    for number in (4, 2, 4):
        pool.hurry(others[number])
    pool.hurry(first)
    gate.set()
    for task in others:
        task.future.result()
    pool.close()
    assert order == [4, 2, 0, 1, 3, 5]


def test_what_nobody_awaits_is_done_in_the_order_in_which_it_is_due():
    pool, order, gate = Pool(1, "asyncfeel"), [], threading.Event()
    pool.submit(gate.wait)
    tasks = [pool.submit(lambda n=n: order.append(n), due_s) for n, due_s in enumerate([5.0, 3.0, 5.0, 1.0, 3.0, 9.0])]
    tasks.append(pool.submit(lambda: order.append("evaluation")))
    for number in (5, 0, 2):
        pool.hurry(tasks[number])
    gate.set()
    for task in tasks:
        task.future.result()
    pool.close()
    assert order == [5, 0, 2, "evaluation", 3, 1, 4]


def test_a_run_that_is_over_gives_up_its_jobs_but_not_its_evaluations(make, stop):
    learner = make()
    executor = Threads(learner, 1, stop)
    endless, waiting = (executor.submit(Job(client, 0, learner.initial(), 10**6)) for client in (0, 1))
    executor.dismiss()
    for job in (endless, waiting):
        with pytest.raises(Interrupted):
            job.result()
    assert executor.evaluate(learner.initial()).result().test_accuracy >= 0
    assert not stop.is_set()
    executor.close()


def test_a_pool_hands_on_errors_and_cancels_what_has_not_begun():
    pool, gate = Pool(1, "asyncfeel"), threading.Event()
    failing, waiting = pool.submit(lambda: 1 / 0), pool.submit(gate.wait)
    with pytest.raises(ZeroDivisionError):
        failing.future.result()
    late = [pool.submit(lambda: None) for _ in range(3)]
    pool.hurry(late[1])
    closing = threading.Thread(target=pool.close)
    closing.start()
    while not all(task.future.cancelled() for task in late):
        time.sleep(0.001)
    gate.set()
    closing.join()
    assert waiting.future.result() is True
