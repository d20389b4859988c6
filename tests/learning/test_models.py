"""Models: sizes that are known, shapes that fit, and errors that name the choice."""

import pytest
import torch
from torch import nn

from asyncfeel.errors import InputError
from asyncfeel.learning import models
from asyncfeel.learning.cost import count_flops, count_parameters
from asyncfeel.learning.losses import half_square


def test_resnet18_has_the_papers_number_of_parameters():
    assert count_parameters(models.resnet18((32, 32, 3), 10)) == 11_173_962


@pytest.mark.parametrize("shape", [(8, 8, 1), (28, 28, 1), (32, 32, 3), (9, 13, 2)])
@pytest.mark.parametrize("kind", ["logistic", "mlp", "cnn", "resnet18"])
def test_models_give_one_output_per_class(kind: str, shape):
    module = getattr(models, kind)(shape, 7).eval()
    assert module(torch.zeros(3, shape[2], *shape[:2])).shape == (3, 7)


@pytest.mark.parametrize("kind", ["logistic", "mlp"])
def test_plain_models_take_features(kind: str):
    assert getattr(models, kind)((60,), 10)(torch.zeros(3, 60)).shape == (3, 10)


def test_options_set_the_sizes():
    assert count_parameters(models.logistic((60,), 10)) == 610
    assert count_parameters(models.mlp((28, 28, 1), 10)) == 784 * 64 + 64 + 650
    assert count_parameters(models.mlp((4,), 2, hidden=3, layers=2)) == 15 + 12 + 8
    convolutions = (27 + 1) * 4 + (36 + 1) * 4
    assert count_parameters(models.cnn((32, 32, 3), 10, width=4, hidden=5)) == convolutions + (256 + 1) * 5 + 60


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: models.cnn((60,), 10), "'cnn' needs images, .* choose logistic or mlp"),
        (lambda: models.resnet18((60,), 10), "'resnet18' needs images"),
        (lambda: models.cnn((7, 9, 1), 10), "at least 8x8 pixels, not 7x9"),
        (lambda: models.point((8, 8, 1), 10), "'point' is for data without classes"),
        (lambda: models.mlp((60,), 10, hidden=0), "hidden must be at least 1"),
        (lambda: models.cnn((8, 8, 1), 10, width=0), "width must be at least 1"),
    ],
)
def test_a_model_that_does_not_fit_says_which_would(make, message: str):
    with pytest.raises(InputError, match=message):
        make()


def test_pooling_before_rectifying_changes_nothing():
    convolution, pool, rectify = models._block(1, 4)
    x = torch.randn(2, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    assert torch.equal(rectify(pool(convolution(x))), pool(torch.relu(convolution(x))))


def test_point_gives_residuals():
    point = models.point((3,), 3)
    assert torch.equal(point(torch.ones(2, 3)), -torch.ones(2, 3))
    loss = half_square(torch.tensor([1.0, 0.5, 0.0]))
    assert loss(torch.full((4, 3), 2.0), torch.zeros(4)).item() == 0.5 * (4 + 2)


def test_the_work_of_a_linear_layer_is_counted_exactly():
    module = nn.Linear(20, 5)
    forward, weights = 2 * 3 * 20 * 5, 2 * 3 * 20 * 5
    assert count_flops(module, (20,), 3, nn.functional.cross_entropy) == forward + weights
