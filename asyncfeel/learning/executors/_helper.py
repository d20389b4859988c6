"""A process of its own for one worker: it trains what it is sent, so that nobody waits for Python's lock.

It is a fork of this process, made before this one has threads that compute: the data, the model's code and torch are
there at once, in the same memory. Models travel through memory that both share, everything else through a pipe.
"""

import contextlib
import ctypes
import mmap
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe

import torch
from torch import Tensor

from asyncfeel.errors import InputError, Interrupted
from asyncfeel.jobs import Job, Probe, Update
from asyncfeel.learning.learner import Learner

Answer = tuple[float | None, tuple[float, float] | None]
"""The loss that a job asked for, and the two of its probe; models stay in the room."""
BYTES = 4
DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""
LAST_STREAM = 2
MEMORY = ((-3, 1 << 25), (-1, 2**31 - 1), (-2, 1 << 26))
"""For glibc's mallopt(3): tensors up to 32 MB from the heap, nothing of it given back, and more of it 64 MB at a time.

Every step frees its activations. Given back to the system, they are pages that it clears again for the next step.
"""
LOOK_S = 0.1
"""How often the one side looks whether the other one is still there and wants to go on."""


def can_fork() -> bool:
    """Whether this system has what helpers need."""
    return sys.platform == "linux"


class Lost(Exception):
    """The process ended although nobody asked it to."""


class Room:
    """Memory that two processes share: the model that is sent, the result, and its two gradients."""

    def __init__(self, entries: int) -> None:
        memory = mmap.mmap(-1, max(1, 4 * entries) * BYTES)  # pages that nobody touches are never there
        whole = torch.frombuffer(memory, dtype=torch.float32)[: 4 * entries]
        self.sent, self.done, self.gradient_sent, self.gradient_done = whole.view(4, entries)


class Orphaned(threading.Event):
    """Set as soon as the process that made this one, with this number, is gone."""

    def __init__(self, parent: int) -> None:
        super().__init__()
        self._parent = parent

    def is_set(self) -> bool:
        """Whether nobody waits for a result any more."""
        return os.getppid() != self._parent


class Helper:
    """The other process as a trainer that can be asked here."""

    def __init__(self, learner: Learner) -> None:
        self._room = Room(learner.size)
        self._holds: Tensor | None = None
        self._gone = False
        self._pipe, theirs = Pipe()
        self._pid = _forked(learner, self._room, theirs)
        theirs.close()

    def train(self, job: Job, stop: threading.Event) -> Update:
        """The job's result, which lies in the room until the next one; see `owned`.

        Once `stop` is set, the process ends, whatever it does.
        """
        if self._holds is not job.model:
            self._room.sent.copy_(job.model)
            self._holds = job.model
        found = self._asked(replace(job, model=None), stop)
        if isinstance(found, BaseException):
            raise found
        loss, losses = found
        room = self._room
        probe = losses and Probe(losses[0], losses[1], room.gradient_sent, room.gradient_done)
        return Update(room.done, loss, probe)

    def _asked(self, job: Job, stop: threading.Event) -> Answer | BaseException:
        try:
            self._pipe.send(job)
            while not self._pipe.poll(LOOK_S):
                if stop.is_set():
                    self.close()
                    raise Interrupted("training was interrupted")
                self._reap(os.WNOHANG)
                if self._gone:
                    raise Lost
            found: Answer | BaseException = self._pipe.recv()
            return found
        except (EOFError, OSError) as error:
            raise Lost from error

    def _reap(self, options: int) -> None:
        """Take note of the end of the process; its number may belong to another one afterwards."""
        try:
            self._gone = self._gone or os.waitpid(self._pid, options)[0] == self._pid
        except ChildProcessError:
            self._gone = True

    def close(self) -> None:
        """End the process; whatever it does is given up."""
        if not self._gone:
            os.kill(self._pid, signal.SIGKILL)
            self._reap(0)
        self._pipe.close()


def owned(update: Update) -> Update:
    """A result of a helper with memory of its own."""
    probe = update.probe and replace(
        update.probe,
        gradient_sent=update.probe.gradient_sent.clone(),
        gradient_done=update.probe.gradient_done.clone(),
    )
    return Update(update.model.clone(), update.loss, probe)


def _forked(learner: Learner, room: Room, pipe: Connection) -> int:
    """The number of a new process that serves at the other end of the pipe."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    parent = os.getpid()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: none of them computes yet
            pid = os.fork()
    except OSError as error:
        raise InputError(f"no process can be made for a worker ({error}): choose executor threads") from error
    if pid:
        return pid
    try:
        _settle(pipe)
        _serve(learner, room, pipe, Orphaned(parent))
    finally:
        os._exit(0)


def _settle(pipe: Connection) -> None:
    """Make this process one that only computes: it ends with its parent, and no signal is for it alone.

    The parent's files are closed, so that none stays open, or locked, for longer than the parent lives.
    """
    system = ctypes.CDLL(None)
    system.prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if hasattr(system, "mallopt"):
        for option, value in MEMORY:
            system.mallopt(option, value)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for file in map(int, os.listdir("/proc/self/fd")):
        if file > LAST_STREAM and file != pipe.fileno():
            with contextlib.suppress(OSError):
                os.close(file)
    torch.set_num_threads(1)


def _serve(learner: Learner, room: Room, pipe: Connection, orphaned: Orphaned) -> None:
    trainer = learner.trainer(orphaned)
    for job in _jobs(orphaned, pipe):
        try:
            update = trainer.train(replace(job, model=room.sent), room.done)
            pipe.send((update.loss, update.probe and _left(room, update.probe)))
        except BaseException as error:
            pipe.send(_portable(error))


def _jobs(orphaned: Orphaned, pipe: Connection) -> Iterator[Job]:
    """What there is to do, until nobody is there any more."""
    while True:
        while not pipe.poll(1.0):
            if orphaned.is_set():
                return
        try:
            yield pipe.recv()
        except (EOFError, OSError):
            return


def _left(room: Room, probe: Probe) -> tuple[float, float]:
    """The two losses of a probe, whose gradients are left in the room."""
    room.gradient_sent.copy_(probe.gradient_sent)
    room.gradient_done.copy_(probe.gradient_done)
    return probe.loss_sent, probe.loss_done


def _portable(error: BaseException) -> BaseException:
    """The error, or one that says the same if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever an error of a user's own does when it is packed
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
