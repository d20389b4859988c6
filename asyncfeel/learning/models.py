"""The models that clients train; every public function here is one kind.

A model takes the shape of one sample, channels last, and the number of outputs. It is called with
a batch as (samples, channels, height, width) or (samples, features). Keywords are the user's
options. What is averaged between clients is decided in flat.py: all parameters and all floating
buffers, so the running statistics of batch normalisation too.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from asyncfeel.errors import InputError
from asyncfeel.learning.vision import torchvision

Shape = tuple[int, ...]
IMAGE = 3
SMALLEST_SIDE = 8
MOST_LAYERS = 1000
PLAIN = "logistic or mlp"


class Point(nn.Module):
    """A point w in space; it gives the residuals w - x, which the half-square loss expects."""

    residual = True

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(dimension))

    def forward(self, x: Tensor) -> Tensor:
        """The residuals of a batch of samples."""
        return self.w - x


def logistic(shape: Shape, outputs: int) -> nn.Module:
    """Logistic regression: one linear layer, a convex task."""
    return nn.Sequential(nn.Flatten(), nn.Linear(_features(shape), outputs))


def mlp(shape: Shape, outputs: int, *, hidden: int = 64, layers: int = 1) -> nn.Module:
    """A perceptron with `layers` hidden layers of `hidden` units each."""
    _positive("mlp", hidden=hidden, layers=layers)
    if layers > MOST_LAYERS:
        raise InputError(f"model 'mlp': layers must be at most {MOST_LAYERS:,}, not {layers:,}")
    widths = [_features(shape), *[hidden] * layers]
    inner = [part for one, two in pairwise(widths) for part in (nn.Linear(one, two), nn.ReLU())]
    return nn.Sequential(nn.Flatten(), *inner, nn.Linear(hidden, outputs))


def cnn(shape: Shape, outputs: int, *, width: int = 16, hidden: int = 64) -> nn.Module:
    """A small convolutional network for images: two 3x3 blocks of `width` channels, then `hidden` units."""
    _positive("cnn", width=width, hidden=hidden)
    height, across, channels = _image("cnn", shape)
    return nn.Sequential(
        *_block(channels, width),
        *_block(width, width),
        nn.Flatten(),
        nn.Linear(width * (height // 4) * (across // 4), hidden),
        nn.ReLU(),
        nn.Linear(hidden, outputs),
    )


def resnet18(shape: Shape, outputs: int) -> nn.Module:
    """ResNet-18 in its form for small images; 11,173,962 parameters for 3 channels and 10 classes."""
    channels = _image("resnet18", shape)[2]
    try:
        model: nn.Module = torchvision("models").resnet18(num_classes=outputs)
    except ImportError as error:
        raise InputError("model 'resnet18' needs torchvision: install it, or choose cnn, mlp or logistic") from error
    model.conv1 = nn.Conv2d(channels, 64, kernel_size=3, stride=1, padding=1, bias=False)
    model.maxpool = nn.Identity()
    nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
    return model


def point(shape: Shape, outputs: int) -> nn.Module:
    """A point in space, for the data set quadratic: its optimum is known."""
    if shape != (outputs,):
        raise InputError("model 'point' is for data without classes: choose logistic, mlp, cnn or resnet18")
    return Point(outputs)


def _block(channels: int, width: int) -> tuple[nn.Module, ...]:
    """Convolution, pooling, rectifier: the last two commute, and this order rectifies a quarter as much."""
    return nn.Conv2d(channels, width, kernel_size=3, padding=1), nn.MaxPool2d(2), nn.ReLU(inplace=True)


def _image(kind: str, shape: Shape) -> Shape:
    if len(shape) != IMAGE:
        raise InputError(f"model {kind!r} needs images, and these samples have {shape[0]} features: choose {PLAIN}")
    if min(shape[:2]) < SMALLEST_SIDE:
        raise InputError(f"model {kind!r} needs at least 8x8 pixels, not {shape[0]}x{shape[1]}: choose {PLAIN}")
    return shape


def _features(shape: Shape) -> int:
    return int(torch.Size(shape).numel())


def _positive(kind: str, **options: int) -> None:
    for name, value in options.items():
        if value < 1:
            raise InputError(f"model {kind!r}: {name} must be at least 1, not {value}")
