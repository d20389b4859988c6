"""Local training against torch's own optimiser, its purity, and what a job may ask for beside plain steps."""

import threading

import numpy as np
import pytest
import torch
from torch import nn

from asyncfeel.errors import InputError, Interrupted
from asyncfeel.jobs import EVERYONE, Job
from asyncfeel.learning import batches, models, partition, samples
from asyncfeel.learning.datasets import builtin
from asyncfeel.learning.executors.serial import Serial
from asyncfeel.learning.executors.threads import Threads
from asyncfeel.learning.flat import FlatModule
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
    monkeypatch.setattr("asyncfeel.learning.feed.VALUES_AT_ONCE", 1)
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


def normalised(shape, outputs: int) -> nn.Module:
    """A model with everything a vector may hold: trained and frozen parameters, and running statistics."""
    module = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 8), nn.Linear(8, outputs)
    )
    module[4].requires_grad_(False)
    return module


def trained_entries(module: nn.Module) -> list[torch.Tensor]:
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def data_of(rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """The inputs and labels of some training samples of the digits."""
    train, _ = samples.of(builtin.digits(), torch.device("cpu"))
    raw, labels = train.take(torch.from_numpy(rows.copy()))
    return train.inputs(raw), labels


def with_pull(model, client: int, number: int, steps: int, rho: float, momentum: float) -> torch.Tensor:
    """The job with x <- x - lr v, v <- momentum v + g(x) + rho (x - x_sent), written out."""
    module, own = build(builtin.digits(), model, seed=7), PARTS[client]
    parameters = trained_entries(module)
    sent = [parameter.detach().clone() for parameter in parameters]
    speed = [torch.zeros_like(start) for start in sent]
    for row in batches.draw(stream(7, "batches", client, number), len(own), steps, 10):
        x, y = data_of(own[row])
        gradients = torch.autograd.grad(nn.functional.cross_entropy(module(x), y), parameters)
        with torch.no_grad():
            for place, parameter in enumerate(parameters):
                pull = rho * (parameter - sent[place])
                speed[place] = momentum * speed[place] + gradients[place] + pull
                parameter -= 0.1 * speed[place]
    return FlatModule(module).read()


@pytest.mark.parametrize("model", [models.mlp, normalised], ids=["mlp", "normalised"])
@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_the_proximal_pull_is_added_to_every_gradient_of_what_is_trained(make, stop, model, momentum: float):
    learner = make(model, parts=PARTS, momentum=momentum)
    start = learner.initial()
    pulled = learner.trainer(stop).train(Job(3, 2, start, 25, proximal=0.8)).model
    plain = learner.trainer(stop).train(Job(3, 2, start, 25)).model
    assert torch.allclose(pulled, with_pull(model, 3, 2, 25, 0.8, momentum), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(pulled, plain, rtol=1e-2, atol=1e-3)


def test_the_first_step_feels_no_pull(make, stop):
    learner = make()
    pulled, plain = (
        learner.trainer(stop).train(Job(3, 2, learner.initial(), 1, proximal=rho)).model for rho in (5.0, 0.0)
    )
    assert torch.allclose(pulled, plain, rtol=1e-6, atol=1e-8)  # a change is rounded apart or in one go


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9, "weight_decay": 0.05}], ids=["plain", "momentum and decay"])
def test_the_rate_of_a_job_is_a_factor_of_the_learning_rate(make, stop, options):
    learner, slower = make(**options), make(learning_rate=0.1 * 0.3, **options)
    found = learner.trainer(stop).train(Job(1, 4, learner.initial(), 12, rate=0.3)).model
    assert torch.equal(found, slower.trainer(stop).train(Job(1, 4, learner.initial(), 12)).model)


@pytest.mark.parametrize("at_once", [100_000, 64 * 40], ids=["one piece", "several pieces"])
def test_a_probe_is_loss_and_gradient_over_all_of_the_clients_data(make, stop, monkeypatch, at_once: int):
    monkeypatch.setattr("asyncfeel.learning.local.PROBED_AT_ONCE", at_once)
    learner = make(parts=PARTS, weight_decay=0.1)
    update = learner.trainer(stop).train(Job(6, 0, learner.initial(), 9, probe=True, proximal=0.4))
    module, (x, y) = build(builtin.digits(), models.mlp, 7), data_of(PARTS[6])
    ends = [
        (learner.initial(), update.probe.loss_sent, update.probe.gradient_sent),
        (update.model, update.probe.loss_done, update.probe.gradient_done),
    ]
    for vector, loss, gradient in ends:
        nn.utils.vector_to_parameters(vector, module.parameters())
        value = nn.functional.cross_entropy(module(x), y)
        expected = torch.autograd.grad(value, list(module.parameters()))
        assert loss == pytest.approx(value.item(), rel=1e-5)
        assert torch.allclose(gradient, nn.utils.parameters_to_vector(expected), rtol=1e-4, atol=1e-6)


def test_a_probe_sees_batch_normalisation_as_training_does_and_has_zeros_where_nothing_is_trained(make, stop):
    learner = make(normalised, parts=PARTS)
    update = learner.trainer(stop).train(Job(2, 0, learner.initial(), 3, probe=True))
    module, (x, y) = build(builtin.digits(), normalised, 7).train(), data_of(PARTS[2])
    expected = torch.autograd.grad(nn.functional.cross_entropy(module(x), y), trained_entries(module))
    trainable = sum(part.numel() for part in expected)
    assert len(update.probe.gradient_sent) == len(update.model) > trainable
    for gradient in (update.probe.gradient_sent, update.probe.gradient_done):
        assert gradient[:trainable].any()
        assert (gradient[trainable:] == 0).all()
    flat = torch.cat([part.reshape(-1) for part in expected])
    assert torch.allclose(update.probe.gradient_sent[:trainable], flat, rtol=1e-4, atol=1e-6)


def test_what_a_probe_finds_does_not_depend_on_the_running_statistics(make, stop):
    learner = make(normalised)
    trainable = sum(part.numel() for part in trained_entries(build(builtin.digits(), normalised, 7)))
    start, other = learner.initial(), learner.initial()
    other[-24:] = 5.0
    assert trainable < len(start) - 24
    one, two = (learner.trainer(stop).train(Job(2, 0, vector, 0, probe=True)).probe for vector in (start, other))
    assert one.loss_sent == two.loss_sent == one.loss_done
    assert torch.equal(one.gradient_sent, two.gradient_sent)


@pytest.mark.parametrize("model", [models.mlp, normalised, models.resnet18], ids=["mlp", "normalised", "resnet18"])
def test_probing_does_not_change_the_training(make, stop, photographs, model):
    data = photographs if model is models.resnet18 else builtin.digits()
    parts = partition.iid(data.y_train, 2, np.random.default_rng(1))
    learner = make(model, data, parts=parts)
    plain, probed = (
        learner.trainer(stop).train(Job(1, 0, learner.initial(), 2, probe=probe)) for probe in (False, True)
    )
    assert torch.equal(plain.model, probed.model)
    assert plain.probe is None


def test_no_piece_of_a_probe_is_smaller_than_a_batch(make, stop, monkeypatch):
    trainer = make(normalised).trainer(stop)
    monkeypatch.setattr("asyncfeel.learning.local.PROBED_AT_ONCE", 1)
    for count in (1, 9, 10, 11, 19, 20, 101):
        pieces = trainer._pieces(torch.arange(count))
        assert torch.equal(torch.cat(pieces), torch.arange(count))
        assert min(map(len, pieces)) >= min(count, 10)
        assert max(map(len, pieces)) < 20


def test_a_probe_stops_when_it_is_told_to(make, stop):
    trainer, start = make().trainer(stop), make().initial()
    stop.set()
    with pytest.raises(Interrupted):
        trainer.train(Job(0, 0, start, 0, probe=True))


def test_everyone_is_all_clients_and_not_the_last_one():
    assert np.array_equal(PARTS.rows(EVERYONE), np.concatenate([PARTS[client] for client in range(10)]))
    assert np.array_equal(PARTS.rows(3), PARTS[3])
    for client in (-2, 10):
        with pytest.raises(IndexError):
            PARTS.rows(client)
    with pytest.raises(IndexError):
        PARTS[EVERYONE]


def test_everyone_trains_and_measures_on_all_the_data(make, stop):
    learner = make(parts=PARTS)
    alone = make(parts=partition.Partition(PARTS.order, np.array([0, len(PARTS.order)])))
    start = learner.initial()
    update = learner.trainer(stop).train(Job(EVERYONE, 3, start, 0, measure_loss=True, probe=True))
    single = alone.trainer(stop).train(Job(0, 3, start, 0, measure_loss=True, probe=True))
    assert update.loss == single.loss
    assert torch.equal(update.probe.gradient_sent, single.probe.gradient_sent)
    found = learner.trainer(stop).train(Job(EVERYONE, 3, start, 6)).model
    assert torch.allclose(found, everyones_steps(3, 6), rtol=1e-5, atol=1e-6)


def everyones_steps(number: int, steps: int) -> torch.Tensor:
    """Plain SGD on batches of all samples, from the stream that belongs to everyone."""
    module = build(builtin.digits(), models.mlp, seed=7)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    for row in batches.draw(stream(7, "batches", -1, number), len(PARTS.order), steps, 10):
        x, y = data_of(PARTS.order[row])
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(x), y).backward()
        optimiser.step()
    return nn.utils.parameters_to_vector(module.parameters()).detach()


@pytest.mark.parametrize("model", [models.cnn, normalised], ids=["cnn", "normalised"])
@pytest.mark.parametrize("client", [4, EVERYONE])
def test_no_steps_give_back_the_model_that_was_sent(make, stop, model, client: int):
    learner = make(model, momentum=0.5)
    start = learner.initial() * 1.5
    update = learner.trainer(stop).train(
        Job(client, 0, start, 0, measure_loss=True, proximal=0.1, rate=2.0, probe=True)
    )
    assert torch.equal(update.model, start)
    assert update.probe.loss_sent == update.probe.loss_done
    assert torch.equal(update.probe.gradient_sent, update.probe.gradient_done)


@pytest.mark.parametrize("model", [models.cnn, normalised], ids=["cnn", "normalised"])
def test_threads_give_the_bits_of_serial_whatever_the_job_asks_for(make, stop, model):
    learner = make(model, momentum=0.5)
    start = learner.initial()
    jobs = [
        Job(i - 1, i, start * (1 + i / 20), i % 4, i % 2 == 0, proximal=i % 3 / 10, rate=1 / (1 + i), probe=i % 5 < 3)
        for i in range(11)
    ]
    serial, threads = Serial(learner, 0, stop), Threads(learner, 3, stop)
    pending = [threads.submit(job) for job in jobs]
    for job, other in zip(jobs, pending, strict=True):
        one, two = serial.submit(job).result, other.result()
        assert torch.equal(one.model, two.model)
        assert one.loss == two.loss
        assert (one.probe is not None) == (two.probe is not None) == job.probe
        if one.probe is not None and two.probe is not None:
            assert (one.probe.loss_sent, one.probe.loss_done) == (two.probe.loss_sent, two.probe.loss_done)
            assert torch.equal(one.probe.gradient_sent, two.probe.gradient_sent)
            assert torch.equal(one.probe.gradient_done, two.probe.gradient_done)
    threads.close()


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
