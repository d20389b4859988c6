"""The work that every simulator does here: its data, its models, its accuracy and its clock.

All scripts of this folder import it, each in an environment of its own; so it needs torch and numpy alone.
"""

import argparse
import functools
import itertools
import json
import math
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook

CLIENTS = 30
SAMPLES = 200
"""Training samples of each client."""
BATCH = 10
STEPS = SAMPLES // BATCH
"""Steps of each client in a round: one pass over its samples."""
RATE = 0.05
WARM_UP = 1
"""Rounds before the clock starts."""
ROUNDS = 10
"""Rounds on the clock."""
SEED = 1
MEAN, DEVIATION = 0.1307, 0.3081
SHAPE = (28, 28, 1)
CLASSES = 10
STARTED = "PEERS_STARTED"
"""The environment variable with the second at which the process was started."""
IMPORTED = time.time()

LAYOUTS = ("channels_last", "contiguous_format")
LAYOUT = "PEERS_LAYOUT"
"""The environment variable with the layout of weights, which the processes of a simulator inherit."""

Shape = tuple[int, ...]
Kept = TypeVar("Kept")


@dataclass(frozen=True, eq=False)
class Data:
    """Normalised images, channels first, and labels: of each client, and of the test."""

    clients: list[tuple[Tensor, Tensor]]
    x_test: Tensor
    y_test: Tensor


@functools.cache
def load(path: str | Path) -> Data:
    """The samples of all clients and of the test, from an archive in the form of Keras; read once per process."""
    with np.load(path) as archive:
        x_train, y_train, x_test, y_test = (archive[name] for name in ("x_train", "y_train", "x_test", "y_test"))
    parts = [(normalised(x_train[rows]), _labels(y_train[rows])) for rows in partition(len(y_train))]
    return Data(parts, normalised(x_test), _labels(y_test))


def partition(samples: int) -> list[np.ndarray]:
    """The training samples of each client: consecutive pieces of a permutation that is always the same."""
    order = np.random.default_rng(SEED).permutation(samples)
    return [order[SAMPLES * client : SAMPLES * (client + 1)] for client in range(CLIENTS)]


def normalised(pixels: np.ndarray) -> Tensor:
    """Bytes as numbers about 0, with a channel axis."""
    return torch.from_numpy(pixels.astype(np.float32)).div_(255).sub_(MEAN).div_(DEVIATION).unsqueeze(1)


def _labels(labels: np.ndarray) -> Tensor:
    return torch.from_numpy(labels.astype(np.int64).reshape(-1))


def mlp(shape: Shape = SHAPE, outputs: int = CLASSES) -> nn.Module:
    """W1: a perceptron 784-64-10."""
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 64), nn.ReLU(), nn.Linear(64, outputs))


def cnn(shape: Shape = SHAPE, outputs: int = CLASSES) -> nn.Module:
    """W2: two 5x5 convolutions with 16 and 32 channels, each rectified and pooled, then 128 units."""
    height, width, channels = shape
    return nn.Sequential(
        nn.Conv2d(channels, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * (height // 4) * (width // 4), 128),
        nn.ReLU(),
        nn.Linear(128, outputs),
    )


MODELS = {"W1": mlp, "W2": cnn}


def model(workload: str, layout: torch.memory_format | None = None) -> nn.Module:
    """The model of a workload, with the same first weights in every script.

    Convolutions are faster with their weights in the layout `channels_last`, so every simulator that
    keeps it gets it, unless the command line asks for torch's own.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return MODELS[workload]().to(memory_format=layout or getattr(torch, os.environ.get(LAYOUT, LAYOUTS[0])))


def batches(x: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """One pass over a client's samples in a new order."""
    order = torch.randperm(len(y))
    return zip(x[order].split(BATCH), y[order].split(BATCH), strict=True)


class Loader:
    """The same as something to iterate over again and again, for simulators that ask for a data loader."""

    batch_size = BATCH

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.x, self.y = x, y

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return batches(self.x, self.y)

    def __len__(self) -> int:
        return math.ceil(len(self.y) / BATCH)


def train(module: nn.Module, x: Tensor, y: Tensor) -> None:
    """One client's round: plain SGD over its samples, for simulators that leave this to their user."""
    module.train()
    optimiser = torch.optim.SGD(module.parameters(), lr=RATE)
    for inputs, labels in batches(x, y):
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(inputs), labels).backward()
        optimiser.step()


@torch.no_grad()
def accuracy(module: nn.Module, data: Data) -> float:
    """The share of the test samples that the model labels rightly."""
    module.eval()
    right = sum(
        int((module(x).argmax(1) == y).sum())
        for x, y in zip(data.x_test.split(1000), data.y_test.split(1000), strict=True)
    )
    return right / len(data.y_test)


class Meter:
    """Counts the steps of local training that this process really does, and notes when rounds end."""

    def __init__(self) -> None:
        self.steps = 0
        self._lock = threading.Lock()
        self._marks: list[tuple[float, int]] = []
        self._started = float(os.environ.get(STARTED, IMPORTED))
        self._startup_s = math.nan
        register_optimizer_step_post_hook(self._count)

    def _count(self, optimiser: torch.optim.Optimizer, *_: object) -> None:
        """A step at any other rate is not local training: a server may have an optimiser too."""
        if optimiser.param_groups[0]["lr"] == RATE:
            with self._lock:
                self.steps += 1

    def mark(self, steps: int | None = None) -> None:
        """A round has ended; `steps` have been done so far by all processes (left out: by this one)."""
        if not self._marks:
            self._startup_s = time.time() - self._started
        self._marks.append((time.perf_counter(), self.steps if steps is None else steps))

    @property
    def rounds_s(self) -> list[float]:
        """The seconds of each round after the warm-up."""
        times = [second for second, _ in self._marks[WARM_UP - 1 :]]
        return [after - before for before, after in itertools.pairwise(times)]

    @property
    def timed_steps(self) -> int:
        """The steps of all processes between the warm-up and the end."""
        return self._marks[-1][1] - self._marks[WARM_UP - 1][1]

    def report(self, peer: str, package: str, asked: argparse.Namespace, accuracy: float) -> None:
        """Print the one line of JSON that a comparison reads."""
        seconds = sum(self.rounds_s)
        row = {
            "peer": peer,
            "version": metadata.version(package),
            "torch": torch.__version__,
            "workload": asked.workload,
            "workers": asked.workers,
            "threads": asked.threads,
            "rounds": len(self.rounds_s),
            "steps": self.timed_steps,
            "seconds": round(seconds, 4),
            "steps_per_s": round(self.timed_steps / seconds, 1),
            "accuracy": round(accuracy, 4),
            "startup_s": round(self._startup_s, 2),
            "peak_mb": round(_resident_mb()),
            "rounds_s": [round(second, 4) for second in self.rounds_s],
        }
        print(json.dumps(row), flush=True)


def _resident_mb() -> float:
    """The most memory that this one process ever held."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


@functools.cache
def kept(make: Callable[..., Kept], *arguments: Any) -> Kept:
    """What `make` makes of the arguments, made once per process, however often a simulator loads its script."""
    return make(*arguments)


def arguments(description: str | None, *more: str) -> argparse.Namespace:
    """What the command line asks for: the options that all scripts share, and more that are texts."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--workload", choices=sorted(MODELS), required=True)
    parser.add_argument("--data", type=Path, required=True, help="an .npz file with x_train, y_train, x_test, y_test")
    parser.add_argument("--workers", type=int, default=1, help="clients that train at once")
    parser.add_argument("--threads", type=int, default=1, help="threads of one operation of torch")
    parser.add_argument("--layout", choices=LAYOUTS, default=LAYOUTS[0], help="of the weights of convolutions")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds on the clock")
    for name in more:
        parser.add_argument(f"--{name}")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    torch.manual_seed(SEED)
    os.environ[LAYOUT] = asked.layout
    return asked
