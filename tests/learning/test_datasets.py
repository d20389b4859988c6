"""The built-in data sets against known counts, laws and answers."""

import numpy as np
import pytest

from asyncfeel.errors import InputError
from asyncfeel.learning.datasets import builtin, downloads, fedprox, quadratics
from asyncfeel.learning.datasets.values import Dataset


def test_digits_are_the_1797_images_of_the_uci_set():
    data = builtin.digits()
    assert data.x_train.shape == (1438, 8, 8, 1)
    assert data.x_test.shape == (359, 8, 8, 1)
    counts = np.bincount(data.y_train) + np.bincount(data.y_test)
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert data.x_train.dtype == np.uint8
    assert data.x_train.max() == 16
    assert data.is_image
    assert data.classes == 10


def test_every_fifth_digit_is_a_test_image():
    sklearn = pytest.importorskip("sklearn.datasets")
    everything = sklearn.load_digits()
    data = builtin.digits()
    assert np.array_equal(data.x_test[..., 0], everything.images[4::5])
    assert np.array_equal(data.y_test, everything.target[4::5])
    assert np.array_equal(data.y_train[:4], everything.target[:4])


def test_synthetic_gives_a_fifth_of_each_clients_samples_to_the_test():
    data = builtin.synthetic(12, np.random.default_rng(1), max_samples=300)
    sizes = fedprox.sizes(12, 300, np.random.default_rng(1))
    assert np.array_equal(np.bincount(data.owners), sizes - sizes // 5)
    assert len(data.y_test) == (sizes // 5).sum()
    assert data.shape == (60,)
    assert data.classes == 10
    assert sizes.min() >= 50
    assert sizes.max() <= 300


def test_synthetic_features_have_the_variances_of_the_paper():
    data = builtin.synthetic(1, np.random.default_rng(5), iid=True)
    many = fedprox.generate(40, np.random.default_rng(5), 0, 0, True, 10_000)
    assert data.x_train.dtype == np.float32
    assert many.x_train.var(axis=0) == pytest.approx(np.arange(1, 61) ** -1.2, rel=0.1)
    assert abs(many.x_train.mean()) < 0.02


def test_alpha_and_beta_are_standard_deviations_between_clients():
    data = builtin.synthetic(400, np.random.default_rng(2), alpha=0.0, beta=3.0, max_samples=50)
    means = np.stack([data.x_train[data.owners == client].mean() for client in range(400)])
    assert means.std() == pytest.approx(3.0, rel=0.15)


def test_iid_clients_share_one_labelling_model():
    data = fedprox.generate(5, np.random.default_rng(3), 1.0, 1.0, True, 2000)
    x = np.column_stack([data.x_train, np.ones(len(data.x_train))])
    first = data.owners == 0
    fit, *_ = np.linalg.lstsq(x[first], np.eye(10)[data.y_train[first]], rcond=None)
    others = (x[~first] @ fit).argmax(axis=1) == data.y_train[~first]
    assert others.mean() > 0.5


def test_the_optimum_of_the_quadratic_has_gradient_zero_and_its_smoothness_is_one():
    data = builtin.quadratic(4, np.random.default_rng(1), dimension=6, samples=30, condition=100.0)
    best = quadratics.optimum(data)
    gradient = (data.curvature * (best - data.x_train)).mean(axis=0)
    assert gradient == pytest.approx(np.zeros(6), abs=1e-7)
    assert data.curvature.max() == 1.0
    assert data.curvature.min() == pytest.approx(0.01)
    assert data.loss == "half-square"
    assert data.classes == 6
    assert np.bincount(data.owners).tolist() == [30] * 4


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_the_largest_curvature_is_exactly_one(dimension: int):
    assert quadratics.curvatures(dimension, 37.0)[-1] == 1.0


def test_quadratic_centres_differ_by_spread_and_samples_by_noise():
    data = builtin.quadratic(300, np.random.default_rng(2), dimension=5, samples=40, spread=2.0, noise=0.5)
    grouped = data.x_train.reshape(300, 40, 5)
    assert grouped.mean(axis=1).std() == pytest.approx(2.0, rel=0.1)
    assert (grouped - grouped.mean(axis=1, keepdims=True)).std() == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(
    ("make", "culprit"),
    [
        (lambda rng: builtin.quadratic(3, rng, dimension=0), "dimension"),
        (lambda rng: builtin.quadratic(3, rng, condition=0.5), "condition"),
        (lambda rng: builtin.quadratic(3, rng, noise=float("nan")), "noise"),
        (lambda rng: builtin.synthetic(0, rng), "clients"),
        (lambda rng: builtin.synthetic(3, rng, alpha=-1.0), "alpha"),
        (lambda rng: builtin.synthetic(3, rng, max_samples=1), "max_samples"),
    ],
)
def test_impossible_options_are_named(make, culprit: str):
    with pytest.raises(InputError, match=f"{culprit} must be a number of at least"):
        make(np.random.default_rng(1))


def test_a_set_that_cannot_be_had_says_where_it_was_looked_for_and_what_to_do(tmp_path, monkeypatch):
    def offline(part: str):
        raise OSError("no\nnetwork")

    monkeypatch.setattr("asyncfeel.learning.vision.torchvision", offline)
    with pytest.raises(InputError) as caught:
        builtin.cifar10(tmp_path)
    message = str(caught.value)
    for part in ("'cifar10'", str(tmp_path / "cifar10.npz"), "CIFAR10", "no network", "--dataset digits"):
        assert part in message
    assert "\n" not in message


def test_torchvisions_own_files_are_used_when_there_is_no_archive(tmp_path, monkeypatch):
    class Part:
        def __init__(self, root: str, train: bool, download: bool) -> None:
            self.data = np.full((3, 4, 4), int(train), dtype=np.uint8)
            self.targets = [0, 1, 2]

    class Sets:
        MNIST = Part

    monkeypatch.setattr("asyncfeel.learning.vision.torchvision", lambda part: Sets)
    data = downloads.fetch("mnist", "MNIST", tmp_path)
    assert data.x_train.shape == (3, 4, 4, 1)
    assert data.x_train.max() == 1
    assert data.x_test.max() == 0
    assert data.y_test.tolist() == [0, 1, 2]


def test_values_that_are_not_finite_are_refused_whoever_made_the_data():
    data = Dataset({"x_train": np.array([[1.0, np.nan]])}, source="my data")
    with pytest.raises(InputError, match="x_train of my data holds values that are not finite"):
        _ = data.x_train


def test_numbers_too_large_for_float32_are_refused():
    with pytest.raises(InputError, match="not finite"):
        _ = Dataset({"x_test": np.array([[1e300]])}).x_test


def test_samples_with_one_axis_are_refused():
    with pytest.raises(InputError, match="1 axes"):
        _ = Dataset({"x_train": np.zeros(3)}).x_train
