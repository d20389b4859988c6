"""Local training against torch's own optimiser, and its purity."""

import threading

import numpy as np
import pytest
import torch
from torch import nn

from asyncfeel.errors import InputError, Interrupted
from asyncfeel.jobs import Job
from asyncfeel.learning import batches, models, partition, samples
from asyncfeel.learning.datasets import builtin
from asyncfeel.learning.learner import build
from asyncfeel.learning.settings import Training
from asyncfeel.streams import stream

PARTS = partition.iid(builtin.digits().y_train, 10, np.random.default_rng(1))


def by_the_book(client: int, number: int, steps: int, **options: float) -> torch.Tensor:
    """The same job with a plain module, plain batches and torch.optim.SGD."""
    data = builtin.digits()
    module = build(data, models.mlp, seed=7)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1, **options)
    pixels = torch.from_numpy(data.x_train).double()
    x = ((pixels - pixels.mean()) / pixels.std(correction=0)).float().permute(0, 3, 1, 2)
    y = torch.from_numpy(data.y_train)
    own = PARTS[client]
    for row in batches.draw(stream(7, "batches", client, number), len(own), steps, 10):
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(x[own[row]]), y[own[row]]).backward()
        optimiser.step()
    return nn.utils.parameters_to_vector(module.parameters()).detach()


@pytest.mark.parametrize(
    "options",
    [{}, {"momentum": 0.9}, {"weight_decay": 0.05}, {"momentum": 0.8, "weight_decay": 0.01}],
    ids=["plain", "momentum", "decay", "both"],
)
def test_training_is_torchs_sgd_on_the_same_batches(make, stop, options):
    learner = make(parts=PARTS, **options)
    update = learner.trainer(stop).train(Job(3, 2, learner.initial(), 25))
    assert torch.allclose(update.model, by_the_book(3, 2, 25, **options), rtol=1e-5, atol=1e-6)


def test_momentum_starts_at_zero_in_every_job(make, stop):
    learner = make(momentum=0.9)
    trainer = learner.trainer(stop)
    first, again = (trainer.train(Job(1, 0, learner.initial(), 8)).model for _ in range(2))
    assert torch.equal(first, again)


@pytest.mark.parametrize("model", [models.cnn, models.resnet18], ids=["cnn", "resnet18"])
def test_a_result_does_not_depend_on_what_the_worker_did_before(make, stop, model):
    learner = make(model)
    start = learner.initial()
    job = Job(2, 5, start, 2)
    expected = learner.trainer(stop).train(job).model
    used = learner.trainer(stop)
    used.train(Job(7, 0, start * 2 + 1, 3, measure_loss=True))
    assert torch.equal(used.train(job).model, expected)


def test_the_model_that_was_sent_is_left_as_it_was(make, stop):
    learner = make()
    start = learner.initial()
    before = start.clone()
    learner.trainer(stop).train(Job(0, 0, start, 5))
    assert torch.equal(start, before)


def test_batches_depend_on_client_and_number_and_no_steps_change_nothing(make, stop):
    learner = make()
    trainer, start = learner.trainer(stop), learner.initial()
    results = [trainer.train(Job(c, n, start, 4)).model for c, n in ((0, 0), (0, 1), (1, 0))]
    assert not torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])
    assert torch.equal(trainer.train(Job(0, 0, start, 0)).model, start)


def test_steps_gathered_together_or_one_by_one_are_the_same(make, stop, monkeypatch):
    learner = make(models.cnn)
    job = Job(4, 1, learner.initial(), 7)
    together = learner.trainer(stop).train(job).model
    monkeypatch.setattr("asyncfeel.learning.local.VALUES_AT_ONCE", 1)
    assert torch.equal(learner.trainer(stop).train(job).model, together)


def test_the_measured_loss_is_the_clients_own_at_the_model_it_was_sent(make, stop):
    learner = make(parts=PARTS)
    start = learner.initial()
    update = learner.trainer(stop).train(Job(6, 0, start, 3, measure_loss=True))
    train, _ = samples.of(builtin.digits(), torch.device("cpu"))
    raw, labels = train.take(torch.from_numpy(PARTS[6].copy()))
    outputs = build(builtin.digits(), models.mlp, 7)(train.inputs(raw))
    assert update.loss == pytest.approx(nn.functional.cross_entropy(outputs, labels).item(), rel=1e-6)
    assert update.loss == learner.client_loss(6, start)
    assert learner.trainer(stop).train(Job(6, 0, start, 3)).loss is None


def test_measuring_the_loss_does_not_change_the_training(make, stop):
    learner = make(models.resnet18)
    plain, measured = (
        learner.trainer(stop).train(Job(1, 0, learner.initial(), 2, measure)).model for measure in (False, True)
    )
    assert torch.equal(plain, measured)


def test_a_client_with_few_samples_uses_all_of_them(make, stop):
    parts = partition.Partition(np.arange(1438), np.array([0, 3, 1438]))
    learner = make(parts=parts)
    one, two = (learner.trainer(stop).train(Job(0, number, learner.initial(), 5)).model for number in (0, 1))
    assert torch.equal(one, two)


def test_training_stops_when_it_is_told_to(make):
    stop = threading.Event()
    learner = make()
    trainer = learner.trainer(stop)
    stop.set()
    with pytest.raises(Interrupted):
        trainer.train(Job(0, 0, learner.initial(), 1000))


def test_gradient_descent_finds_the_known_optimum_of_the_quadratic(make, stop):
    data = builtin.quadratic(4, np.random.default_rng(1), dimension=5, samples=20, condition=4.0)
    parts = partition.natural(data.owners, 4)
    learner = make(models.point, data, parts=parts, batch=20, learning_rate=1.0)
    update = learner.trainer(stop).train(Job(2, 0, learner.initial(), 200))
    assert update.model.numpy() == pytest.approx(data.x_train[data.owners == 2].mean(axis=0), abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": 0}, "batch must be a whole number of at least 1, not 0"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"learning_rate": float("nan")}, "learning_rate must be"),
        ({"momentum": 1.0}, "momentum must be"),
        ({"weight_decay": -1.0}, "weight_decay must be"),
    ],
)
def test_impossible_settings_are_named(options, message: str):
    with pytest.raises(InputError, match=message):
        Training(**({"batch": 10, "learning_rate": 0.1} | options))
