"""The learner: initial weights, evaluation and costs against straightforward computations."""

import asyncio
import math
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from asyncfeel.errors import InputError
from asyncfeel.jobs import Job
from asyncfeel.learning import models, partition
from asyncfeel.learning.datasets import builtin, quadratics
from asyncfeel.learning.datasets.values import Dataset
from asyncfeel.learning.executors.batched import Batched
from asyncfeel.learning.learner import build


def test_first_weights_depend_on_the_seed_alone(make):
    torch.manual_seed(1)
    one = make(seed=3).initial()
    torch.manual_seed(2)
    assert torch.equal(make(seed=3).initial(), one)
    assert not torch.equal(make(seed=4).initial(), one)


def test_torchs_own_generator_is_left_alone(make, stop):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    learner = make(models.cnn)
    learner.trainer(stop)
    learner.initial()
    assert torch.equal(torch.rand(1), expected)


def test_evaluation_is_the_mean_over_all_samples(make):
    data = builtin.digits()
    learner = make(models.cnn)
    found = learner.evaluate(learner.initial())
    module = build(data, models.cnn, 7).double()
    pixels = torch.from_numpy(data.x_train).double()
    centre, scale = pixels.mean(), pixels.std(correction=0)

    def assess(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
        outputs = module((torch.from_numpy(x).double() - centre).div(scale).permute(0, 3, 1, 2))
        labels = torch.from_numpy(y)
        return nn.functional.cross_entropy(outputs, labels).item(), (outputs.argmax(1) == labels).double().mean().item()

    assert found.train_loss == pytest.approx(assess(data.x_train, data.y_train)[0], rel=1e-5)
    loss, accuracy = assess(data.x_test, data.y_test)
    assert found.test_loss == pytest.approx(loss, rel=1e-5)
    assert found.test_accuracy == pytest.approx(accuracy, abs=1e-9)


def test_the_training_loss_may_be_taken_on_a_fixed_sample(make):
    whole, some, again = (make(train_sample=size) for size in (0, 100, 100))
    start = whole.initial()
    assert some.evaluate(start) == again.evaluate(start)
    assert some.evaluate(start).train_loss != whole.evaluate(start).train_loss
    assert some.evaluate(start).train_loss == pytest.approx(whole.evaluate(start).train_loss, rel=0.2)
    assert make(train_sample=10**6).evaluate(start) == whole.evaluate(start)


def test_clients_losses_average_to_the_global_loss(make):
    parts = partition.dirichlet(builtin.digits().y_train, 6, np.random.default_rng(1))
    learner = make(parts=parts)
    start = learner.initial()
    mean = sum(size * learner.client_loss(client, start) for client, size in enumerate(parts.sizes)) / 1438
    assert learner.evaluate(start).train_loss == pytest.approx(mean, rel=1e-5)


def test_evaluation_may_run_in_several_threads_at_once(make):
    learner = make(models.cnn)
    vectors = [learner.initial() * factor for factor in (1.0, 0.5, 2.0, 0.0)] * 3
    expected = [learner.evaluate(vector) for vector in vectors]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(learner.evaluate, vectors)) == expected


def test_the_loss_of_the_quadratic_is_least_at_its_optimum(make):
    data = builtin.quadratic(3, np.random.default_rng(1), dimension=4, condition=10.0)
    learner = make(models.point, data, parts=partition.natural(data.owners, 3))
    best = torch.from_numpy(quadratics.optimum(data)).float()
    metrics = learner.evaluate(best)
    expected = 0.5 * (data.curvature * data.x_train.astype(float).var(axis=0)).sum()
    assert metrics.train_loss == pytest.approx(expected, rel=1e-5)
    assert math.isnan(metrics.test_accuracy)
    assert learner.initial().tolist() == [0.0] * 4
    moved = learner.evaluate(best + torch.tensor([0.0, 0.0, 0.0, 2.0])).train_loss
    assert moved - metrics.train_loss == pytest.approx(0.5 * 1.0 * 4, rel=1e-4)


def test_bits_and_work_of_the_papers_network(photographs, make):
    learner = make(models.resnet18, photographs)
    assert learner.model_bits == 32 * (11_173_962 - 6 * 513)
    assert len(learner.initial()) > learner.model_bits // 32


def test_bits_of_the_papers_network_on_its_own_data(make):
    x = np.zeros((10, 32, 32, 3), dtype=np.uint8)
    data = Dataset({"x_train": x, "x_test": x, "y_train": np.arange(10), "y_test": np.arange(10)})
    learner = make(models.resnet18, data)
    assert learner.model_bits == 357_566_784
    assert learner.flops_per_step == pytest.approx(2 * 3 * 10 * 555_422_720, rel=0.01)


class ForPlainImages(nn.Module):
    """A network whose code is only for images as torch lays them, as in many tutorials."""

    def __init__(self, shape: tuple[int, ...], outputs: int, channels: int = 6) -> None:
        super().__init__()
        self.first = nn.Conv2d(shape[2], channels, 3, padding=1)
        self.second = nn.Conv2d(channels, 4, 3, padding=1)
        self.last = nn.Linear(4 * shape[0] * shape[1] // 4, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(functional.relu(self.first(x)), 2)
        return self.last(functional.relu(self.second(x)).view(len(x), -1))


class Flat(nn.Module):
    """A network that begins with a view of its images."""

    def __init__(self, shape: tuple[int, ...], outputs: int) -> None:
        super().__init__()
        self.features = shape[0] * shape[1] * shape[2]
        self.only = nn.Linear(self.features, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.only(x.view(-1, self.features))


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("model", [ForPlainImages, Flat])
@pytest.mark.parametrize("colours", [True, False])
def test_code_for_images_as_torch_lays_them_works(make, stop, photographs, model, colours, quick):
    learner = make(model, photographs if colours else None, quick=quick)
    start = learner.initial()
    single = learner.trainer(stop).train(Job(0, 0, start, 4)).model
    executor = Batched(learner, 1, stop)
    stacked = asyncio.run(alone(executor, Job(0, 0, start, 4)))
    executor.close()
    assert learner.unstackable is None
    assert torch.allclose(single, stacked, atol=1e-5)
    assert not torch.allclose(single, start, atol=1e-3)
    plain = model((8, 8, 3 if colours else 1), 4 if colours else 10)
    plain.load_state_dict(learner.export(single))
    assert learner.evaluate(single).test_loss == pytest.approx(loss_over_tests(plain, learner), rel=1e-4)


async def alone(executor: Batched, job: Job) -> torch.Tensor:
    """The model of one job."""
    return (await executor.submit(job)).model


@torch.no_grad()
def loss_over_tests(module: nn.Module, learner) -> float:
    """The loss of a module over the test samples."""
    samples = learner._test
    inputs, labels = samples.inputs(samples.raw).contiguous(), samples.labels
    return float(functional.cross_entropy(module(inputs), labels))


def test_an_exported_model_loads_into_a_plain_module(make):
    learner = make(models.resnet18)
    vector = learner.initial() + 0.25
    module = build(builtin.digits(), models.resnet18, 1)
    module.load_state_dict(learner.export(vector), strict=True)
    assert torch.equal(module.conv1.weight.reshape(-1), vector[: module.conv1.weight.numel()])
    assert torch.equal(module.bn1.running_mean, torch.full((64,), 0.25))


def test_the_norm_is_euclidean(make):
    assert make().norm(torch.tensor([3.0, 4.0])) == 5.0


def test_bytes_that_are_no_images_are_normalised_too_and_constant_channels_are_only_centred(make, stop):
    x = np.full((20, 5), 7, dtype=np.uint8)
    data = Dataset({"x_train": x, "x_test": x, "y_train": np.arange(20) % 2, "y_test": np.arange(20) % 2})
    learner = make(models.logistic, data, parts=partition.iid(data.y_train, 2, np.random.default_rng(1)))
    assert not learner._train.inputs(learner._train.raw).any()


def test_features_are_used_as_they_are(make):
    data = builtin.synthetic(3, np.random.default_rng(1), max_samples=60)
    learner = make(models.logistic, data, parts=partition.natural(data.owners, 3))
    assert torch.equal(learner._train.inputs(learner._train.raw), torch.from_numpy(data.x_train))


def strange(shape, outputs):
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), outputs + 1))


def too_narrow(shape, outputs):
    return nn.Sequential(nn.Flatten(), nn.Linear(3, outputs))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (strange, r"gives \(11,\) outputs per sample instead of \(10,\)"),
        (too_narrow, "cannot take samples of the shape"),
    ],
)
def test_a_model_of_ones_own_that_does_not_fit_is_refused_at_once(make, model, message: str):
    with pytest.raises(InputError, match=message):
        make(model)


def test_classes_and_points_do_not_mix(make):
    data = builtin.quadratic(2, np.random.default_rng(1))
    with pytest.raises(InputError, match="choose point"):
        make(models.logistic, data, parts=partition.natural(data.owners, 2))


@pytest.mark.parametrize("which", ["train_sample", "test_sample"])
def test_a_negative_sample_is_refused(make, which: str):
    with pytest.raises(InputError, match=f"{which} must be at least 0"):
        make(**{which: -1})


def test_a_sample_of_the_test_data_is_always_the_same(make):
    whole, some, same = make(), make(test_sample=100), make(test_sample=100)
    start = whole.initial()
    assert some.evaluate(start) == same.evaluate(start)
    assert some.evaluate(start).test_loss != whole.evaluate(start).test_loss
    assert some.evaluate(start).train_loss == whole.evaluate(start).train_loss


def test_trainers_are_spread_over_devices_and_all_learn_the_same(make, stop):
    cpu = torch.device("cpu")
    learner = make(devices=[cpu, torch.device("cpu", 0)])
    job = Job(3, 0, learner.initial(), 4)
    assert len(learner._copies) == 2
    one, two = (learner.trainer(stop, worker).train(job).model for worker in (0, 1))
    assert torch.equal(one, two)


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler of C++")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_models_learn_the_same(make, stop):
    plain, compiled = make(models.logistic), make(models.logistic, compiled=True)
    job = Job(3, 0, plain.initial(), 4)
    expected = plain.trainer(stop).train(job).model
    assert torch.allclose(compiled.trainer(stop).train(job).model, expected, atol=1e-6)
    assert "compiled" in compiled.unstackable
