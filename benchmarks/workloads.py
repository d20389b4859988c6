"""The three workloads as plug-ins of a run, and as a plain loop in PyTorch that does the same steps.

`python benchmarks/workloads.py W2 --threads 2 --seconds 5` prints the plain loop's steps per second.
"""

import argparse
import importlib.util
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from torch import nn

from asyncfeel import Dataset
from asyncfeel.learning import models

BATCH = 10
LAYOUTS = ("contiguous_format", "channels_last")
SHAPES = {"W1": (28, 28, 1), "W2": (28, 28, 1), "W3": (32, 32, 3)}
FILES = {"W1": "mnist.npz", "W2": "mnist.npz", "W3": "cifar10.npz"}


def _work() -> ModuleType:
    """The file that the comparison with other simulators shares: one definition of the models."""
    spec = importlib.util.spec_from_file_location("work", Path(__file__).parent / "peers" / "work.py")
    if spec is None or spec.loader is None:
        raise SystemExit("benchmarks/peers/work.py is missing")
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["work"] = module
    spec.loader.exec_module(module)
    return module


def w1(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """A perceptron 784-64-10."""
    return _work().mlp(shape, outputs)


def w2(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Two 5x5 convolutions and a dense layer."""
    return _work().cnn(shape, outputs)


def w3(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """ResNet-18 in its form for small images."""
    return models.resnet18(shape, outputs)


def images(*, workload: str = "W1", samples: int = 6000) -> Dataset:
    """Random images of the workload's shape, where the real ones are not at hand: as much work, nothing to learn."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 256, (samples + 500, *SHAPES[workload]), dtype=np.uint8)
    y = np.arange(samples + 500) % 10
    parts = {"x_train": x[:samples], "y_train": y[:samples], "x_test": x[samples:], "y_test": y[samples:]}
    return Dataset(parts)


MODELS = {"W1": w1, "W2": w2, "W3": w3}


def plain(workload: str, threads: int, seconds: float, layout: str = "contiguous_format") -> float:
    """Steps per second of local training in a plain loop, one client after another, with weights in a layout."""
    torch.set_num_threads(threads)
    height, width, channels = SHAPES[workload]
    module = MODELS[workload](SHAPES[workload], 10).to(memory_format=getattr(torch, layout))
    x, y = torch.randn(20 * BATCH, channels, height, width), torch.arange(20 * BATCH) % 10
    module(x[:BATCH])
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        steps += _round(module, x, y, began + seconds)
    return steps / (time.perf_counter() - began)


def _round(module: nn.Module, x: torch.Tensor, y: torch.Tensor, until: float) -> int:
    """One client's pass over its samples; the steps done before the time is up."""
    optimiser = torch.optim.SGD(module.parameters(), lr=0.01)
    for done, rows in enumerate(torch.randperm(len(y)).split(BATCH), start=1):
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(x[rows]), y[rows]).backward()
        optimiser.step()
        if time.perf_counter() > until:
            return done
    return len(y) // BATCH


def main() -> None:
    """Measure the plain loop and print its speed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=sorted(MODELS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--layout", choices=LAYOUTS, default=LAYOUTS[0], help="of the weights (default: torch's own)")
    asked = parser.parse_args()
    print(plain(asked.workload, asked.threads, asked.seconds, asked.layout))


if __name__ == "__main__":
    main()
