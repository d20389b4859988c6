"""Gradients written out: what automatic differentiation finds, for every network that is a chain, and for no other."""

import copy
from collections.abc import Callable, Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from asyncfeel.jobs import Job
from asyncfeel.learning.flat import FlatModule
from asyncfeel.learning.quick import processor, products, quicken, winograd
from asyncfeel.learning.written import Chain, chain, unrolled

SEEN = (6, 3, 8, 8)
LABELS = torch.tensor([0, 3, 1, 1, 2, 0])


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """The same weights and inputs every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        yield


class Tutorial(nn.Module):
    """A network as tutorials write it: layers in the constructor, functions in the code."""

    def __init__(self, flatten: Callable[[Tensor], Tensor] = lambda x: x.view(x.size(0), -1)) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 5, 3, padding=1), nn.Conv2d(5, 6, 3, bias=False)
        self.fc1, self.fc2 = nn.Linear(24, 7), nn.Linear(7, 4)
        self.flatten = flatten

    def forward(self, x: Tensor) -> Tensor:
        x = functional.max_pool2d(functional.relu(self.conv1(x)), 2)
        x = self.flatten(torch.relu(functional.pad(self.conv2(x), (0, 0))))
        return self.fc2(self.fc1(x).relu())


class Simple(Tutorial):
    """The same without what no layer does."""

    def forward(self, x: Tensor) -> Tensor:
        x = functional.max_pool2d(functional.relu(self.conv1(x)), 2)
        return self.fc2(self.fc1(self.flatten(self.conv2(x).relu())).relu())


def tail(channels: int, side: int) -> list[nn.Module]:
    return [nn.Flatten(), nn.Linear(channels * side * side, 4)]


NETWORKS = {
    "dense": lambda: nn.Sequential(nn.Flatten(), nn.Linear(192, 9), nn.ReLU(), nn.Linear(9, 4, bias=False)),
    "dense along the last axis": lambda: nn.Sequential(nn.Linear(8, 5), nn.ReLU(), nn.Flatten(), nn.Linear(120, 4)),
    "convolution": lambda: nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU(), *tail(5, 6)),
    "strides, groups, dilation": lambda: nn.Sequential(
        nn.Conv2d(3, 6, 3, stride=2, padding=1, bias=False),
        nn.Conv2d(6, 4, 2, groups=2),
        nn.Conv2d(4, 4, 2, dilation=2),
        *tail(4, 1),
    ),
    "rectified and pooled": lambda: nn.Sequential(
        nn.Conv2d(3, 5, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(5, 6, 3), *tail(6, 2)
    ),
    "pooled with overlap": lambda: nn.Sequential(
        nn.Conv2d(3, 5, 3), nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), nn.ReLU(), *tail(5, 4)
    ),
    "pooled twice": lambda: nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(3, 5, 1), nn.MaxPool2d(2), *tail(5, 2)),
    "rectified first": lambda: nn.Sequential(nn.ReLU(), nn.Conv2d(3, 5, 1), nn.Tanh(), nn.ReLU(), *tail(5, 8)),
    "other layers": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3, padding="same"),
        nn.BatchNorm2d(4),
        nn.Sequential(nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect")),
        nn.GroupNorm(2, 4),
        nn.AvgPool2d(2),
        nn.Identity(),
        nn.Sigmoid(),
        *tail(4, 4),
    ),
    "in place": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.LeakyReLU(0.2, inplace=True),
        nn.BatchNorm2d(4),
        nn.SiLU(inplace=True),
        nn.MaxPool2d(2),
        nn.ELU(inplace=True),
        *tail(4, 4),
    ),
    "a quicker way": lambda: nn.Sequential(nn.Conv2d(3, 512, 3), nn.ReLU(), nn.AvgPool2d(6), *tail(512, 1)),
    "view": Simple,
    "reshape": lambda: Simple(lambda x: x.reshape(x.shape[0], -1)),
    "flatten": lambda: Simple(lambda x: torch.flatten(x, 1)),
    "flatten as a method": lambda: Simple(lambda x: x.flatten(1)),
    "view of a known size": lambda: Simple(lambda x: x.view(-1, 24)),
}


def written(network: nn.Module) -> tuple[FlatModule, Chain | None]:
    layers = unrolled(network, torch.linspace(-1, 1, 2 * 192).view(2, 3, 8, 8))
    model = FlatModule(quicken(copy.deepcopy(network)), plain=isinstance(network, Tutorial))
    return model, None if layers is None else chain(model.module, layers)


def automatic(network: nn.Module, inputs: Tensor, labels: Tensor) -> list[Tensor]:
    """The gradients of the network itself, as double precision finds them."""
    network = copy.deepcopy(network).double()
    value = functional.cross_entropy(network(inputs.contiguous().double()), labels)
    return list(torch.autograd.grad(value, list(network.parameters())))


def agree(found: list[Tensor], exact: list[Tensor]) -> None:
    for mine, truth in zip(found, exact, strict=True):
        assert mine.shape == truth.shape
        assert float((mine - truth).norm()) <= 1e-5 * float(truth.norm()) + 1e-6


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_those_of_automatic_differentiation(name):
    network = NETWORKS[name]()
    _, found = written(network)
    assert found is not None
    for size in (6, 6, 4, 6):  # memory is used again, and made anew for another size
        inputs, labels = torch.randn(SEEN)[:size], LABELS[:size]
        agree(found.gradients(inputs.to(memory_format=torch.channels_last), labels), automatic(network, inputs, labels))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_goes_against_the_gradients(name):
    network = NETWORKS[name]()
    model, found = written(network)
    assert found is not None
    inputs, rate = torch.randn(SEEN), 0.01
    before = [parameter.detach().clone() for parameter in model.parameters]
    found.descend(inputs, LABELS, rate)
    moved = [(old - new) / rate for old, new in zip(before, model.parameters, strict=True)]
    for mine, truth in zip(moved, automatic(network, inputs, LABELS), strict=True):
        assert torch.allclose(mine.double(), truth, rtol=1e-3, atol=1e-4)


def test_winograds_method_has_its_place_in_a_chain(monkeypatch):
    monkeypatch.setattr(processor, "favours_direct", lambda: False)
    taken = []
    convolve = winograd.convolve
    monkeypatch.setattr(winograd, "convolve", lambda *given: (taken.append(given), convolve(*given))[1])
    layers = [nn.Conv2d(3, 192, 1), nn.Conv2d(192, 192, 3, padding=1), nn.Tanh(), nn.AvgPool2d(8)]
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(192, 4))
    _, found = written(network)
    assert found is not None
    inputs, labels = torch.randn(10, 3, 8, 8), torch.arange(10) % 4
    mine, exact = found.gradients(inputs, labels), automatic(network, inputs, labels)
    assert taken
    for one, truth in zip(mine, exact, strict=True):
        assert float((one - truth).norm()) <= 1e-4 * float(truth.norm())


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("wider", [False, True])
def test_large_dense_layers_by_either_library(monkeypatch, wider, bias):
    monkeypatch.setattr(processor, "favours_direct", lambda: wider)
    taken = []
    onednn = products.onednn
    monkeypatch.setattr(products, "onednn", lambda *given: (taken.append(given), onednn(*given))[1])
    network = nn.Sequential(nn.Flatten(), nn.Linear(192, 1400, bias), nn.ReLU(), nn.Linear(1400, 192, bias))
    _, found = written(network)
    assert found is not None
    taken.clear()
    inputs = torch.randn(SEEN)
    for one, truth in zip(found.gradients(inputs, LABELS), automatic(network, inputs, LABELS), strict=True):
        assert float((one - truth).norm()) <= 1e-5 * float(truth.norm())
    assert bool(taken) == wider


@settings(deadline=None, max_examples=40)
@given(
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    window=st.integers(1, 3),
    channels=st.integers(1, 5),
    kernels=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_any_convolution_and_pooling(kernel, stride, padding, window, channels, kernels, seed):
    torch.manual_seed(seed)
    features = nn.Sequential(nn.Conv2d(channels, kernels, kernel, stride, padding), nn.ReLU(), nn.MaxPool2d(window, 1))
    inputs = torch.randn(3, channels, 9, 9)
    network = nn.Sequential(*features, nn.Flatten(), nn.Linear(features(inputs)[0].numel(), 3))
    layers = unrolled(network, inputs)
    assert layers is not None
    model = FlatModule(copy.deepcopy(network))
    found = chain(model.module, layers)
    assert found is not None
    labels = torch.tensor([0, 2, 1])
    agree(found.gradients(inputs, labels), automatic(network, inputs, labels))


class Counting(Simple):
    """A network with a number of its own."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x + torch.rand(1))


class Branching(Simple):
    """A network whose way depends on what it sees."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x if x.sum() > 0 else -x)


class Skipping(nn.Module):
    """A network with a connection past a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(192, 192), nn.Linear(192, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        return self.outer(x + self.inner(x))


class Mixing(nn.Module):
    """A network that makes rows of something else than samples."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(96, 8), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.inner(x.reshape(-1, 96)).reshape(-1, 16))


def twice() -> nn.Module:
    layer = nn.Linear(192, 192)
    return nn.Sequential(nn.Flatten(), layer, nn.ReLU(), layer, nn.Linear(192, 4))


def watched() -> nn.Module:
    network = NETWORKS["convolution"]()
    network[0].register_forward_hook(lambda module, given, found: found * 2)
    return network


def unused() -> nn.Module:
    network = Simple()
    network.more = nn.Linear(2, 2)
    return network


@pytest.mark.parametrize("make", [Tutorial, Counting, Branching, Skipping, Mixing, twice, watched, unused])
def test_what_is_no_chain_is_left_to_automatic_differentiation(make):
    assert written(make())[1] is None


def test_frozen_weights_stay(make, stop, photographs):
    def frozen(shape: tuple[int, ...], outputs: int) -> nn.Module:
        network = NETWORKS["rectified and pooled"]()
        network[0].requires_grad_(False)
        return network

    learner = make(frozen, photographs)
    start = learner.initial()
    job = Job(0, 0, start, 3)
    found = learner.trainer(stop).train(job).model
    expected = make(frozen, photographs, quick=False).trainer(stop).train(job).model
    assert torch.allclose(found, expected, atol=1e-6)
    trained = sum(parameter.numel() for parameter in frozen((8, 8, 3), 4).parameters() if parameter.requires_grad)
    assert torch.equal(found[trained:], start[trained:])
    assert not torch.equal(found[:trained], start[:trained])


@pytest.mark.parametrize(
    "options", [{}, {"momentum": 0.8}, {"weight_decay": 0.1}], ids=["plain", "momentum", "weight decay"]
)
@pytest.mark.parametrize("proximal", [0.0, 0.3])
@pytest.mark.parametrize("name", ["rectified and pooled", "other layers", "view"])
def test_training_is_that_of_automatic_differentiation(make, stop, photographs, name, proximal, options):
    results = []
    for quick in (True, False):
        learner = make(lambda shape, outputs: NETWORKS[name](), photographs, quick=quick, **options)
        job = Job(1, 0, learner.initial(), 4, proximal=proximal, measure_loss=True, probe=True)
        results.append(learner.trainer(stop).train(job))
    mine, theirs = results
    assert torch.allclose(mine.model, theirs.model, atol=2e-5)
    assert mine.loss == pytest.approx(theirs.loss, rel=1e-5)


def test_a_learner_follows_the_model_once_and_leaves_it_as_it_was(make, stop):
    seen = []

    class Watching(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            seen.append(type(x).__name__)
            return super().forward(x)

    learner = make(lambda shape, outputs: Watching(nn.Flatten(), nn.Linear(64, outputs)))
    assert seen.count("Proxy") == 1
    before = len(seen)
    learner.trainer(stop).train(Job(0, 0, learner.initial(), 5))
    assert len(seen) == before  # the code of the network is not run any more, only its layers
