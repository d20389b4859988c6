"""Steps of stacked dense layers: what TorchScript makes of the function gives the bits of the function itself."""

import itertools

import pytest
import torch
from torch import Tensor

from asyncfeel.learning.stacked import descent

MODELS, BATCH, WIDTHS = 3, 4, (7, 6, 5)


def trained(descend, steps: int, bias: bool, rates: Tensor | None, keep: float) -> list[Tensor]:
    """The weights after some steps, which always begin from the same ones."""
    made = torch.Generator().manual_seed(2)
    weights = [torch.randn(MODELS, out, into, generator=made) for into, out in itertools.pairwise(WIDTHS)]
    biases = [torch.randn(MODELS, 1, out, generator=made) if bias else None for out in WIDTHS[1:]]
    outputs = [torch.empty(MODELS, BATCH, out) for out in WIDTHS[1:]]
    inputs = torch.randn(steps, MODELS, BATCH, WIDTHS[0], generator=made)
    labels = torch.randint(0, WIDTHS[-1], (steps, MODELS, BATCH, 1), generator=made)
    sums = [torch.empty(MODELS, 1, out) for out in WIDTHS[1:]]
    minus = torch.full((MODELS, BATCH, 1), -1.0)
    errors = [torch.empty_like(outputs[0])]
    descend(inputs, labels, weights, biases, [True, False], outputs, errors, sums, minus, rates, 0.1 / BATCH, keep)
    return [*weights, *(one for one in biases if one is not None)]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rates", [None, torch.tensor([0.5, 1.0, 2.0]).view(-1, 1, 1)], ids=["alike", "unlike"])
@pytest.mark.parametrize("keep", [1.0, 0.9])
def test_with_and_without_torchscript(bias, rates, keep):
    assert descent.descend is not descent._descend
    plain, scripted = (trained(one, 5, bias, rates, keep) for one in (descent._descend, descent.descend))
    for one, other in zip(plain, scripted, strict=True):
        assert torch.equal(one, other)
    for one, start in zip(plain, trained(descent.descend, 0, bias, rates, keep), strict=True):
        assert not torch.equal(one, start)


def test_without_torchscript_the_function_itself_is_taken(monkeypatch):
    def gone(function):
        raise RuntimeError("TorchScript is no more")

    monkeypatch.setattr(torch.jit, "script", gone)
    assert descent._scripted(descent._descend) is descent._descend
