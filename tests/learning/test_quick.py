"""The quicker ways: what they compute is what torch computes."""

import asyncio
import copy
import pickle
from collections.abc import Callable, Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from asyncfeel.jobs import Job
from asyncfeel.learning.executors.serial import Serial
from asyncfeel.learning.executors.threads import Threads
from asyncfeel.learning.intraop import one_thread
from asyncfeel.learning.quick import columns, processor, products, quicken, winograd

SEEN = (10, 3, 8, 8)


def wide(shape: tuple[int, ...] = (8, 8, 3), outputs: int = 4) -> nn.Module:
    """A network in which every way is taken: direct, Winograd's, and columns.

    It is smooth: where the largest of two nearly equal values counts, rounding would decide on the gradient.
    """
    return nn.Sequential(
        nn.Conv2d(shape[2], 192, 3, padding=1),
        nn.Conv2d(192, 192, 3, padding=1),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(192, 96, 3, stride=2, padding=1),
        nn.Flatten(),
        nn.Linear(96 * 4, outputs),
    )


def derived(function: Callable[..., Tensor], *tensors: Tensor) -> list[Tensor]:
    """What a function gives, and the gradients of its product with something fixed."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    result = function(*leaves)
    weights = (torch.arange(result.numel()) * 37 % 101 - 50).view(result.shape).to(result.dtype)
    return [result.detach(), *torch.autograd.grad(result, leaves, weights)]


@pytest.fixture(autouse=True)
def usual(monkeypatch) -> None:
    """A processor on which no way is ruled out, whatever this one is."""
    monkeypatch.setattr(processor, "favours_direct", lambda: False)


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """The same weights and inputs every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        yield


def agree(found: list[Tensor], exact: list[Tensor], error: float) -> None:
    for mine, truth in zip(found, exact, strict=True):
        assert mine.shape == truth.shape
        assert float((mine - truth).norm()) <= error * float(truth.norm())


@settings(deadline=None, max_examples=25)
@given(
    images=st.integers(1, 4),
    into=st.integers(1, 5),
    out=st.integers(1, 5),
    down=st.integers(1, 3),
    across=st.integers(1, 3),
    at_once=st.sampled_from([1, 4, 10**6]),
    seed=st.integers(0, 99),
)
def test_winograd_is_the_convolution_and_its_gradients(images, into, out, down, across, at_once, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(images, into, 4 * down, 4 * across, generator=generator)
    weight = torch.randn(out, into, 3, 3, generator=generator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(winograd, "TILES_AT_ONCE", at_once)
        found = derived(lambda a, w: winograd.convolve(a, w, torch.empty(36 * into * out)), x, weight)
    exact = derived(lambda a, w: torch.conv2d(a, w, padding=1), x.double(), weight.double())
    agree(found, exact, 3e-5)


@pytest.mark.parametrize(("channels", "pixels"), [(128, 16), (256, 8)])
def test_winograd_rounds_little_more_than_ten_times_as_much_as_a_direct_sum(channels, pixels):
    x, weight = torch.randn(10, channels, pixels, pixels), torch.randn(channels, channels, 3, 3)
    assert winograd.pays(x.shape, channels)
    found = derived(lambda a, w: winograd.convolve(a, w, torch.empty(4 * weight.numel())), x, weight)
    direct = derived(lambda a, w: torch.conv2d(a, w, padding=1), x, weight)
    exact = derived(lambda a, w: torch.conv2d(a, w, padding=1), x.double(), weight.double())
    for mine, theirs, truth in zip(found, direct, exact, strict=True):
        assert float((mine - truth).norm()) < 20 * float((theirs - truth).norm())


@pytest.mark.parametrize(
    ("images", "out"),
    [((10, 128, 14, 16), 128), ((10, 128, 16, 18), 128), ((10, 3, 32, 32), 64), ((10, 512, 4, 4), 512)],
)
def test_winograd_is_not_used_for_odd_sizes_few_channels_or_few_pixels(images, out):
    assert not winograd.pays(images, out)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"cpu_name": "AMD EPYC", "avx512_f": True, "avx_vnni": True}, True),
        ({"cpu_name": "AMD EPYC", "avx512_f": True, "avx_vnni": False}, False),
        ({"cpu_name": "Intel(R) Xeon(R)", "avx512_f": True, "avx_vnni": True}, False),
        ({}, False),
    ],
)
def test_winograd_is_not_used_where_direct_sums_are_wider(monkeypatch, found, expected):
    monkeypatch.setattr(processor, "favours_direct", lambda: processor._favours_direct(found))
    assert winograd.pays((10, 192, 8, 8), 192) is not expected


@pytest.mark.parametrize("kernel", [1, 3, (2, 5)])
@pytest.mark.parametrize("stride", [(1, 1), (2, 1)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 2)])
def test_columns_are_the_convolution_and_its_gradients(kernel, stride, padding):
    layer = nn.Conv2d(3, 7, kernel)
    x, weight, bias = torch.randn(2, 3, 6, 9), layer.weight, layer.bias
    found = derived(lambda *t: columns.convolve(*t, stride, padding), x, weight, bias)
    exact = derived(lambda *t: torch.conv2d(*t, stride, padding), x.double(), weight.double(), bias.double())
    agree(found, exact, 1e-6)


@pytest.mark.parametrize(("pixels", "out", "weights"), [(160, 128, 2**20), (160, 192, 2**16)])
def test_columns_are_not_used_for_many_pixels_or_few_weights(pixels, out, weights):
    assert columns.pays(159, 160, 2**17)
    assert not columns.pays(pixels, out, weights)


def test_columns_leave_out_gradients_that_nobody_wants():
    weight = torch.randn(9, 2, 3, 3, requires_grad=True)
    x = torch.randn(1, 2, 4, 4)
    found = torch.autograd.grad(columns.convolve(x, weight, None, (1, 1), (1, 1)).sum(), weight)
    exact = torch.autograd.grad(torch.conv2d(x, weight, padding=1).sum(), weight)
    assert torch.allclose(found[0], exact[0], atol=1e-5)


def test_a_quick_network_computes_what_it_did():
    plain = wide()
    quick = quicken(copy.deepcopy(plain))
    x = torch.randn(SEEN)
    outputs, expected = quick(x), plain(x)
    assert torch.allclose(outputs, expected, atol=1e-5)
    for mine, theirs in zip(
        torch.autograd.grad(outputs.square().sum(), list(quick.parameters())),
        torch.autograd.grad(expected.square().sum(), list(plain.parameters())),
        strict=True,
    ):
        assert float((mine - theirs).norm()) <= 2e-5 * float(theirs.norm())


def test_every_way_is_taken(monkeypatch):
    taken = []
    for way in (winograd, columns):
        real = way.convolve
        monkeypatch.setattr(way, "convolve", lambda *a, way=way, real=real: (taken.append(way), real(*a))[1])
    quicken(wide())(torch.randn(SEEN))
    assert taken == [winograd, columns]


@pytest.mark.parametrize(
    ("into", "out", "bias"),
    [(192, 192, False), (96, 700, True)],
    ids=["winograd", "columns"],
)
def test_layers_that_work_in_place_may_follow(into, out, bias):
    """Smooth ones here: where rounding moves a value over the edge of a rectifier, gradients differ."""
    plain = nn.Sequential(nn.Conv2d(into, out, 3, padding=1, bias=bias), nn.ELU(inplace=True))
    x = torch.randn(10, into, 8, 8)
    quick = quicken(copy.deepcopy(plain))
    assert quick[0].is_quicker(x)
    agree(derived(quick, x), derived(plain, x), 2e-5)


def test_images_whose_windows_are_not_kept_have_the_same_gradients(monkeypatch):
    x, weight, room = torch.randn(3, 4, 12, 8), torch.randn(5, 4, 3, 3), torch.empty(36 * 20)
    kept = derived(lambda *t: winograd.convolve(*t, room), x, weight)
    monkeypatch.setattr(winograd, "KEPT", 0)
    made_again = derived(lambda *t: winograd.convolve(*t, room), x, weight)
    for one, other in zip(kept, made_again, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_products_are_the_same_in_the_other_library(turned, monkeypatch):
    left, right = torch.randn(31, 70), torch.randn(70, 45)
    mine, theirs = (one.t().contiguous().t() if turn else one for one, turn in zip((left, right), turned, strict=True))
    expected = torch.mm(left, right)
    for direct in (False, True):
        monkeypatch.setattr(processor, "favours_direct", lambda direct=direct: direct)
        agree([products.product(mine, theirs)], [expected], 1e-6)


def test_a_layer_used_twice_has_right_gradients():
    layer = nn.Conv2d(192, 192, 3, padding=1)
    quick = quicken(copy.deepcopy(layer))
    x = torch.randn(10, 192, 8, 8)
    (found,) = torch.autograd.grad(quick(quick(x)).sum(), [quick.weight])
    (exact,) = torch.autograd.grad(layer(layer(x)).sum(), [layer.weight])
    assert float((found - exact).norm()) <= 2e-5 * float(exact.norm())


def test_changing_weights_before_their_gradient_is_an_error():
    layer = quicken(nn.Conv2d(192, 192, 3, padding=1))
    result = layer(torch.randn(10, 192, 8, 8))
    with torch.no_grad():
        layer.weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_winograd_leaves_out_gradients_that_nobody_wants():
    x, weight, room = torch.randn(2, 3, 8, 8), torch.randn(5, 3, 3, 3), torch.empty(36 * 15)
    wanted = derived(lambda *t: winograd.convolve(*t, room), x, weight)
    agree(derived(lambda a: winograd.convolve(a, weight, room), x), wanted[:2], 0.0)
    agree(derived(lambda w: winograd.convolve(x, w, room), weight), wanted[::2], 0.0)


def test_single_images_and_frozen_weights_work():
    layer = nn.Conv2d(192, 192, 3, padding=1).requires_grad_(False)
    quick = quicken(copy.deepcopy(layer))
    assert torch.equal(quick(torch.ones(192, 8, 8)), layer(torch.ones(192, 8, 8)))
    x = torch.randn(10, 192, 8, 8)
    agree(derived(quick, x), derived(layer, x), 2e-5)


def rectified_and_pooled() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1))


def rectified(run: Callable[[], object], parts: nn.Sequential) -> int:
    """How many values the rectifier of a chain is given while something runs."""
    seen: list[int] = []
    real, parts[1].forward = parts[1].forward, lambda x: (seen.append(x.numel()), real(x))[1]
    run()
    return sum(seen)


def test_pooling_before_rectifying_changes_no_bit():
    plain = rectified_and_pooled()
    quick = quicken(copy.deepcopy(plain))
    x = torch.randint(-2, 3, (4, 1, 12, 12)).float()  # few values, so that many are equal
    for mine, theirs in zip(derived(quick, x), derived(plain, x), strict=True):
        assert torch.equal(mine, theirs)
    assert rectified(lambda: quick(x), quick) * 4 == rectified(lambda: plain(x), plain)


class Tapping(nn.Module):
    """A network that uses what lies between the layers of a chain."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = rectified_and_pooled()

    def forward(self, x: Tensor) -> Tensor:
        for number, part in enumerate(self.parts):
            x = part(x)
            if number == 1:
                return x
        return x


def test_layers_of_a_chain_stay_where_they_are():
    plain = Tapping()
    x = torch.randn(4, 1, 12, 12)
    assert torch.equal(quicken(copy.deepcopy(plain))(x), plain(x))


@pytest.mark.parametrize("layer", [1, 2])
def test_layers_with_hooks_keep_their_order(layer):
    plain = rectified_and_pooled()
    plain[layer].register_forward_hook(lambda module, given, found: -found)
    quick = quicken(copy.deepcopy(plain))
    x = torch.randn(4, 1, 12, 12)
    assert torch.equal(quick(x), plain(x))


class Own(nn.Conv2d):
    """A convolution of a user's own."""


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(4, 4, 3, groups=2),
        nn.Conv2d(4, 4, 3, dilation=2),
        nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"),
        nn.Conv2d(4, 4, 3, padding="same"),
        Own(4, 4, 3),
    ],
)
def test_other_convolutions_are_left_alone(layer):
    kind = type(layer)
    assert type(quicken(layer)) is kind


def test_pooling_that_gives_places_is_left_alone():
    plain = nn.Sequential(nn.ReLU(), nn.MaxPool2d(2, return_indices=True))
    x = torch.full((1, 1, 2, 2), -1.0)
    x[0, 0, 1, 1] = -0.5
    for mine, theirs in zip(quicken(copy.deepcopy(plain))(x), plain(x), strict=True):
        assert torch.equal(mine, theirs)


def test_quick_networks_can_be_copied_and_pickled():
    quick = quicken(wide())
    x = torch.randn(SEEN)
    expected = quick(x)
    for other in (copy.deepcopy(quick), pickle.loads(pickle.dumps(quick))):
        assert torch.equal(other(x), expected)


def test_a_quick_learner_learns_the_same(make, photographs, stop):
    results = []
    for quick in (True, False):
        learner = make(wide, photographs, quick=quick, batch=10, learning_rate=0.05)
        job = Job(model=learner.initial(), client=0, number=0, steps=3)
        results.append(learner.trainer(stop).train(job).model)
    assert not torch.equal(results[0], results[1])
    assert torch.allclose(results[0], results[1], atol=1e-5)


def test_all_executors_give_the_same_bits_on_quick_layers(make, photographs, stop):
    learner = make(wide, photographs, batch=10, learning_rate=0.05)
    jobs = [Job(model=learner.initial(), client=client, number=0, steps=2) for client in (0, 1, 2, 0)]

    async def models(executor: Serial | Threads) -> list[Tensor]:
        try:
            return [(await result).model for result in [executor.submit(job) for job in jobs]]
        finally:
            executor.close()

    with one_thread():
        found = [asyncio.run(models(executor)) for executor in (Serial(learner, 1, stop), Threads(learner, 3, stop))]
    assert torch.equal(found[0][0], found[0][3])
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)
