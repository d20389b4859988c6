"""Processes: the bits of threads, whatever is asked for, and none that is left behind."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from asyncfeel import Scenario, run
from asyncfeel.errors import InputError, Interrupted
from asyncfeel.folding import start as begin
from asyncfeel.jobs import Broadcast, Job
from asyncfeel.learning import models
from asyncfeel.learning.executors._helper import can_fork
from asyncfeel.learning.executors.processes import Processes
from asyncfeel.learning.executors.serial import Serial

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes need Linux")


def children() -> set[int]:
    """The processes that this one has started, without those that have ended."""
    tasks = f"/proc/{os.getpid()}/task"
    found: set[int] = set()
    for task in os.listdir(tasks):
        gone = contextlib.suppress(FileNotFoundError, ProcessLookupError)  # threads may end meanwhile
        with gone, open(f"{tasks}/{task}/children") as file:
            found |= set(map(int, file.read().split()))
    return found


@pytest.fixture(autouse=True)
def none_left() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("model", [models.mlp, models.cnn], ids=["mlp", "cnn"])
def test_they_give_the_bits_of_serial(make, stop, model, workers, results):
    learner = make(model, momentum=0.5)
    start = learner.initial()
    options = [{}, {"measure_loss": True}, {"probe": True}, {"proximal": 0.2, "rate": 0.5}]
    jobs = [Job(i % 10, i // 10, start * (1 + i / 20), i % 5, **options[i % 4]) for i in range(15)]
    expected = results(Serial(learner, 0, stop), jobs)
    for one, two in zip(expected, results(Processes(learner, workers, stop), jobs), strict=True):
        assert torch.equal(one.model, two.model)
        assert one.loss == two.loss
        assert (one.probe is None) == (two.probe is None)
        if one.probe and two.probe:
            assert (one.probe.loss_sent, one.probe.loss_done) == (two.probe.loss_sent, two.probe.loss_done)
            assert torch.equal(one.probe.gradient_sent, two.probe.gradient_sent)
            assert torch.equal(one.probe.gradient_done, two.probe.gradient_done)


def test_a_broadcast_adds_up_to_the_same_bits(make, stop):
    learner = make(models.cnn)
    clients = np.arange(10)
    work = Broadcast(learner.initial(), clients, clients * 0, clients % 3 + 1, lambda: [0.1] * 10)
    changes = []
    for executor in (Serial(learner, 0, stop), Processes(learner, 2, stop)):

        async def gathered(executor=executor) -> torch.Tensor:
            return (await begin(executor, work)).change

        changes.append(asyncio.run(gathered()))
        executor.close()
    assert torch.equal(*changes)


def test_none_overtakes_what_is_awaited(make, stop):
    """Only jobs that the processes had in hand, or took in the last moment, end before it."""
    learner, workers = make(), 2
    executor = Processes(learner, workers, stop)
    others = [executor.submit(Job(i % 10, i, learner.initial(), 100)) for i in range(60)]
    clients = np.arange(6)
    work = Broadcast(learner.initial(), clients, clients * 0, clients + 1, lambda: [0.1] * 6)

    async def overtaken() -> int:
        awaited = begin(executor, work)
        before = sum(other.done() for other in others)
        await awaited
        return sum(other.done() for other in others) - before

    assert asyncio.run(overtaken()) <= 2 * workers
    executor.dismiss()
    executor.close()


def test_they_compute_after_this_process_has_used_all_its_threads(make, stop, results):
    """Threads of an operation do not survive a fork: a helper that waited for them would wait for ever."""
    torch.set_num_threads(2)
    big = torch.randn(600, 600)
    for _ in range(3):
        big = (big @ big).tanh()
    learner = make(models.cnn)
    job = Job(0, 0, learner.initial(), 3)
    (found,) = results(Processes(learner, 2, stop), [job])
    torch.set_num_threads(1)
    assert torch.equal(found.model, learner.trainer(stop).train(job).model)


def test_evaluations_are_those_of_this_process(make, stop):
    learner = make()
    executor = Processes(learner, 2, stop)
    assert executor.evaluate(learner.initial()).result() == learner.evaluate(learner.initial())
    executor.close()


class Own(Exception):
    """An error that cannot be packed."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} and {other}")


@pytest.mark.parametrize(("error", "kind"), [(ValueError("no"), ValueError), (Own(1, 2), RuntimeError)])
def test_errors_of_a_job_come_back_and_the_next_job_goes_on(make, stop, monkeypatch, error, kind):
    from asyncfeel.learning.local import Trainer

    train = Trainer.train

    def failing(self, job, *room):
        if job.client == 7:
            raise error
        return train(self, job, *room)

    monkeypatch.setattr(Trainer, "train", failing)
    executor = Processes(make(), 1, stop)
    start = executor._learner.initial()
    with pytest.raises(kind, match=r"no|1 and 2"):
        executor.submit(Job(7, 0, start, 1)).result()
    assert executor.submit(Job(6, 0, start, 1)).result().model.shape == start.shape
    assert executor.note is None
    executor.close()


@pytest.mark.parametrize("begun", [False, True])
def test_a_lost_process_changes_no_bit(make, stop, begun, results):
    learner = make(models.cnn)
    start = learner.initial()
    jobs = [Job(client, 0, start, 400 if begun else 2) for client in range(6)]
    expected = results(Serial(learner, 0, stop), jobs)
    before = children()
    executor = Processes(learner, 2, stop)
    first, *_ = children() - before
    if begun:
        threading.Timer(0.2, os.kill, (first, signal.SIGKILL)).start()
    else:
        os.kill(first, signal.SIGKILL)
    for one, two in zip(expected, results(executor, jobs), strict=True):
        assert torch.equal(one.model, two.model)
    assert executor.note == "a worker's process was lost; its jobs were trained in a thread from then on"


@pytest.mark.parametrize("how", ["stop", "dismiss"])
def test_jobs_under_way_are_given_up(make, stop, how):
    executor = Processes(make(), 2, stop)
    start = executor._learner.initial()
    pending = [executor.submit(Job(client, 0, start, 1_000_000)) for client in range(3)]
    time.sleep(0.3)
    stop.set() if how == "stop" else executor.dismiss()
    for job in pending:
        with pytest.raises(Interrupted):
            job.result()
    executor.close()


def test_a_forgotten_executor_leaves_no_process(make, stop):
    before = children()
    executor = Processes(make(), 2, stop)
    assert len(children() - before) == 2
    executor._pool.close()
    executor._end()
    assert children() == before


SCRIPT = """
import threading, time
from asyncfeel import Scenario
from asyncfeel.execution import executor
from asyncfeel.prepare import prepare
scenario = Scenario.load(model="mlp", executor="processes", workers=2, iterations=1)
made = executor(prepare(scenario, True), threading.Event())
start = made._learner.initial()
from asyncfeel.jobs import Job
for client in range(2):
    made.submit(Job(client, 0, start, 50_000_000))
print([helper._pid for helper in made._helpers], flush=True)
time.sleep(60)
"""


def test_they_end_with_the_process_that_made_them():
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        helpers = json.loads(parent.stdout.readline())
        parent.kill()
        parent.wait()
        ends = time.monotonic() + 10
        while any(os.path.exists(f"/proc/{helper}") for helper in helpers) and time.monotonic() < ends:
            time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{helper}") for helper in helpers)


def test_a_run_has_the_files_of_threads(tmp_path):
    names = ("iterations.csv", "staleness.csv", "metrics.csv", "servers.csv", "model.safetensors")
    contents = []
    for executor in ("threads", "processes"):
        scenario = Scenario.load(
            clients=6, servers=3, model="cnn", iterations=6, executor=executor, set={"evaluation.test_sample": 50}
        )
        folder = run(scenario, tmp_path / executor).folder
        contents.append([(folder / name).read_bytes() for name in names])
    assert contents[0] == contents[1]


def test_other_devices_are_refused(make, stop):
    learner = make()
    learner.device = torch.device("meta")
    with pytest.raises(InputError, match="executor processes is for training on a CPU: choose threads"):
        Processes(learner, 1, stop)
