"""Small learning tasks that the tests share."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from asyncfeel.jobs import Job, Update
from asyncfeel.learning import models, partition
from asyncfeel.learning.datasets import builtin
from asyncfeel.learning.datasets.values import Dataset
from asyncfeel.learning.intraop import one_thread
from asyncfeel.learning.learner import Learner
from asyncfeel.learning.settings import Training


@pytest.fixture(autouse=True)
def _one_thread():
    with one_thread():
        yield


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


@pytest.fixture
def photographs() -> Dataset:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 256, (60, 8, 8, 3), dtype=np.uint8)
    y = np.arange(60) % 4
    return Dataset({"x_train": x[:40], "y_train": y[:40], "x_test": x[40:], "y_test": y[40:]})


@pytest.fixture
def make() -> Callable[..., Learner]:
    """A learner on the digits, or on other data, with ten clients."""

    def learner(model: Any = models.mlp, dataset: Dataset | None = None, **options: Any) -> Learner:
        data = builtin.digits() if dataset is None else dataset
        parts = options.pop("parts", None) or partition.iid(data.y_train, 10, np.random.default_rng(1))
        sample, seed = options.pop("train_sample", 0), options.pop("seed", 7)
        more = {name: options.pop(name) for name in ("test_sample", "devices", "compiled", "quick") if name in options}
        training = Training(**({"batch": 10, "learning_rate": 0.1} | options))
        return Learner(data, parts, model, training, seed, torch.device("cpu"), sample, **more)

    return learner


@pytest.fixture
def results() -> Callable[..., list[Update]]:
    """What jobs come to in an executor, which is closed then."""

    async def everything(executor: Any, jobs: list[Job]) -> list[Update]:
        return await asyncio.gather(*[executor.submit(job) for job in jobs])

    def found(executor: Any, jobs: list[Job]) -> list[Update]:
        try:
            return asyncio.run(everything(executor, jobs))
        finally:
            executor.close()

    return found
