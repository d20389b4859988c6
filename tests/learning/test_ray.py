"""The executor ray: the bits of every other one, whatever becomes of the workers, and nothing left behind."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from asyncfeel import plugins
from asyncfeel.errors import InputError, Interrupted
from asyncfeel.jobs import Broadcast, Job, Update
from asyncfeel.learning import models
from asyncfeel.learning.executors import _ray_session
from asyncfeel.learning.executors._ray_parcel import pack
from asyncfeel.learning.executors._ray_session import Session
from asyncfeel.learning.executors.ray import Ray
from asyncfeel.learning.executors.serial import Serial

ray = pytest.importorskip("ray", reason="the executor ray needs the package ray: pip install 'asyncfeel[ray]'")

FILES = ("clients", "iterations", "staleness", "mixing", "metrics")


@pytest.fixture(scope="module", autouse=True)
def _local_ray():
    """One Ray for all tests here, as a program may have one; executors use it and leave it."""
    before = signal.getsignal(signal.SIGTERM)
    session = Session(None, 2, False, 1 << 28)
    assert signal.getsignal(signal.SIGTERM) is before
    folder = Path(session._folder)
    assert folder.is_dir()
    yield
    assert ray.is_initialized()
    session.close()
    assert not ray.is_initialized()
    assert not folder.exists()


def settled(awaitable):
    async def wait():
        return await awaitable

    return asyncio.run(wait())


def digests(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((folder / "manifest.json").read_text())["digests"]
    return found


def same(one: Update, two: Update) -> bool:
    parts = [(one.model, two.model)]
    if one.probe:
        parts += [(one.probe.gradient_sent, two.probe.gradient_sent)]
        parts += [(one.probe.gradient_done, two.probe.gradient_done)]
    return all(torch.equal(a, b) for a, b in parts) and one.loss == two.loss


def assert_idle(learner) -> None:
    """An error if Ray's workers do not begin a job soon, for the old ones still run."""
    executor = Ray(learner, 2, threading.Event())
    pending = [executor.submit(Job(0, i, learner.initial(), 1)) for i in range(4)]
    deadline = time.monotonic() + 90
    while not all(one.done() for one in pending):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    executor.close()


def carrying(mark: str) -> list[Path]:
    """The processes with this variable in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            found += [process.parent] if mark.encode() in process.read_bytes() else []
    return found


def broadcast(model: torch.Tensor, clients: int, **options) -> Broadcast:
    everyone = np.arange(clients)
    return Broadcast(
        model, everyone % 10, everyone // 10, 1 + everyone % 4, lambda: np.linspace(0, 1, clients), **options
    )


@pytest.mark.parametrize("model", [models.mlp, models.cnn], ids=["mlp", "cnn"])
def test_single_jobs_have_the_bits_of_serial(make, stop, model):
    learner = make(model, momentum=0.5)
    start = learner.initial()
    jobs = [Job(i % 10, i, start if i % 3 else start * 1.1, 1 + i, i % 2 == 0, probe=i == 4) for i in range(6)]
    executor, serial = Ray(learner, 2, stop), Serial(learner, 1, stop)
    found = [executor.submit(job) for job in jobs]
    assert len(executor._models) == 3
    for job, update in zip(jobs, found, strict=True):
        assert same(settled(serial.submit(job)), settled(update))
    assert executor.evaluate(start).result() == learner.evaluate(start)
    executor.close()


def test_a_broadcast_is_stored_once_and_adds_up_to_the_same_bits(make, stop, monkeypatch):
    learner = make()
    work = broadcast(learner.initial(), 40, measure_loss=True, keep=True)
    executor = Ray(learner, 2, stop)
    assert executor._chunk(len(work), work.model) == 5
    stored = []
    monkeypatch.setattr(executor, "_put", lambda thing, put=ray.put: (stored.append(thing), put(thing))[1])
    found, expected = settled(executor.broadcast(work)), settled(Serial(learner, 1, stop).broadcast(work))
    executor.close()
    assert len(stored) == 1
    assert torch.equal(found.change, expected.change)
    assert list(found.losses) == list(expected.losses)
    assert all(same(*pair) for pair in zip(found.updates, expected.updates, strict=True))


def test_a_broadcast_to_nobody_ends(make, stop):
    executor = Ray(make(), 1, stop)
    assert executor.broadcast(broadcast(torch.zeros(1), 0)).result().change is None
    executor.close()


def test_few_results_are_in_flight_however_many_clients_there_are(make, stop):
    learner = make()
    executor = Ray(learner, 1, stop)
    most = 0

    def watch(start=executor._window._begin):
        def begin(*call):
            nonlocal most
            start(*call)
            most = max(most, len(executor._window._running))

        return begin

    executor._window._begin = watch()
    executor._chunk = lambda *_: 1
    pending = executor.broadcast(broadcast(learner.initial(), 50))
    assert pending.result().change is not None
    executor.close()
    assert most == 1  # Ray has two workers here and may use one of them: nothing is sent ahead


def test_data_lie_in_shared_memory_once(make):
    learner = make()
    parcel = pack(learner)
    assert parcel.size < 3 * sum(tensor.nbytes for tensor in (learner._train.raw, learner._test.raw))
    opened = parcel.open()
    assert opened._train.raw.data_ptr() == learner._train.raw.data_ptr()
    assert opened._train is opened.feed.samples
    copied = parcel.copied()
    assert copied._train.raw.data_ptr() != learner._train.raw.data_ptr()
    assert torch.equal(copied.initial(), learner.initial())


def test_errors_of_a_job_are_the_job_s_own(make, stop):
    learner = make()
    executor = Ray(learner, 1, stop)
    with pytest.raises(IndexError, match=r"^99$") as caught:
        settled(executor.submit(Job(99, 0, learner.initial(), 1)))
    assert type(caught.value) is IndexError
    work = broadcast(learner.initial(), 12)
    work.clients[7] = 98
    with pytest.raises(IndexError, match=r"^98$"):
        settled(executor.broadcast(work))
    executor.close()


def test_the_stop_flag_ends_all_jobs_and_their_tasks(make, stop):
    learner = make(models.cnn)
    executor = Ray(learner, 2, stop)
    pending = [executor.submit(Job(0, i, learner.initial(), 1_000_000)) for i in range(6)]
    whole = executor.broadcast(broadcast(learner.initial(), 30))
    threading.Timer(0.3, stop.set).start()
    for one in (*pending, whole):
        with pytest.raises(Interrupted):
            settled(one)
    executor.close()
    assert_idle(learner)


def test_close_ends_what_is_not_finished_and_leaves_no_thread(make, stop):
    learner = make()
    executor = Ray(learner, 2, stop)
    pending = [executor.submit(Job(0, i, learner.initial(), 1_000_000)) for i in range(3)]
    executor.close()
    executor.close()
    assert all(one.done() for one in pending)
    assert_idle(learner)
    assert not [thread for thread in threading.enumerate() if thread.name == "asyncfeel-ray"]


def test_an_executor_that_is_forgotten_leaves_no_thread(make, stop):
    Ray(make(), 1, stop)
    assert not [thread for thread in threading.enumerate() if thread.name == "asyncfeel-ray"]


def test_a_model_from_the_user_s_own_file_travels_along(make, stop, tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        "import torch\n"
        "class Own(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.last = torch.nn.Linear(64, 10)\n"
        "    def forward(self, x):\n"
        "        return self.last(x.flatten(1))\n"
    )
    own = plugins.from_file(file).Own

    def model(shape: tuple[int, ...], classes: int) -> nn.Module:
        return own()

    learner = make(model)
    executor = Ray(learner, 1, stop)
    job = Job(0, 0, learner.initial(), 3)
    assert same(settled(executor.submit(job)), settled(Serial(learner, 1, stop).submit(job)))
    executor.close()


def test_a_cuda_learner_shares_the_gpus(monkeypatch):
    session = Session(None, 1, False, 1 << 28)
    with pytest.raises(InputError, match="Ray knows of no GPU"):
        session.share(2)
    session.gpus = 2
    assert [session.share(workers) for workers in (1, 2, 3, 8)] == [1, 1, 1 / 2, 1 / 4]


def test_too_few_workers_are_refused(make, stop):
    with pytest.raises(InputError, match="workers must be at least 0"):
        Ray(make(), -1, stop)


def test_a_second_connection_is_refused(make, stop):
    with pytest.raises(InputError, match="connected to Ray already"):
        Ray(make(), 1, stop, "auto")


def test_without_ray_the_error_says_what_to_install(make, stop, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError) as caught:
        Ray(make(), 1, stop)
    assert str(caught.value) == "executor 'ray' needs the package ray: pip install 'asyncfeel[ray]'"


@pytest.mark.parametrize("address", ["cluster", "ray://host:10001", "host:", ":6379", "host:port"])
def test_an_address_has_a_host_and_a_port(address):
    with pytest.raises(InputError, match=r"must be auto or HOST:PORT"):
        _ray_session.check(address)


def test_an_address_where_nobody_or_somebody_else_answers_is_refused_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            with server.accept()[0] as line:
                line.recv(1000)
                line.sendall(b"HTTP/1.0 400 Bad Request\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(InputError, match="Ray cannot be reached there: something else answers"):
            _ray_session.check(f"127.0.0.1:{port}")
        thread.join()
    with pytest.raises(InputError, match=rf"ray_address '127.0.0.1:{port}': Ray cannot be reached there"):
        _ray_session.check(f"127.0.0.1:{port}")
    _ray_session.check("auto")


def test_a_lost_machine_changes_no_byte(tmp_path):
    """A cluster of two nodes, one of which is killed in the middle of the run."""
    script = Path(__file__).with_name("ray_node_lost.py")
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for name in (*(f"{name}.csv" for name in FILES), "model.safetensors"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "threads" / name).read_bytes(), name
    assert digests(tmp_path / "ray") == digests(tmp_path / "threads")


def test_the_command_is_quiet_and_leaves_nothing(tmp_path):
    mark = f"ASYNCFEEL_TEST={tmp_path}"
    line = ["-m", "asyncfeel", "run", "--executor", "ray", "--until", "0.05", "--workers", "1", "--quiet"]
    marked = os.environ | dict([mark.split("=")])
    done = subprocess.run(
        [sys.executable, *line, "--out", tmp_path / "run"], env=marked, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path / 'run'}\n", "")
    deadline = time.monotonic() + 10
    while carrying(mark):
        assert time.monotonic() < deadline
        time.sleep(0.1)
