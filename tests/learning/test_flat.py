"""The flat vector: it is the model, with its buffers."""

import copy

import pytest
import torch
from torch import nn

from asyncfeel.errors import InputError
from asyncfeel.learning.flat import FlatModule


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(2 * 36, 3))


def test_a_vector_goes_in_and_comes_out():
    flat = FlatModule(network())
    vector = torch.randn(len(flat.vector))
    flat.load(vector)
    assert torch.equal(flat.read(), vector)
    assert flat.read().data_ptr() != flat.vector.data_ptr()


def test_the_module_computes_what_it_computed_before():
    module = network()
    x = torch.randn(2, 1, 8, 8)
    expected = copy.deepcopy(module).eval()(x)
    assert torch.allclose(FlatModule(module).module.eval()(x), expected, rtol=1e-4, atol=1e-6)


def test_the_vector_is_parameters_then_floating_buffers():
    module = network()
    parts = [*module.parameters(), module[1].running_mean, module[1].running_var]
    parts[0] = parts[0].permute(0, 2, 3, 1)
    flat = FlatModule(copy.deepcopy(module))
    assert torch.equal(flat.vector, torch.cat([part.detach().reshape(-1) for part in parts]))
    assert flat.trainable == sum(p.numel() for p in module.parameters())


def test_parameters_are_views_so_loading_is_all_it_takes():
    flat = FlatModule(network())
    flat.load(torch.zeros_like(flat.vector))
    assert not any(parameter.any() for parameter in flat.module.parameters())
    assert not flat.module[1].running_var.any()


def test_running_statistics_are_part_of_the_average():
    flat = FlatModule(network())
    one = flat.read()
    flat.module.train()(torch.randn(4, 1, 8, 8) * 5 + 3)
    two = flat.read()
    flat.load(0.5 * one + 0.5 * two)
    names = flat.named(two)
    expected = 0.5 * flat.named(one)["1.running_mean"] + 0.5 * names["1.running_mean"]
    assert torch.allclose(flat.module[1].running_mean, expected)
    assert names["1.running_mean"].abs().max() > 0.01


def test_loading_resets_the_counters_that_are_not_averaged():
    flat = FlatModule(network())
    flat.module.train()(torch.randn(4, 1, 8, 8))
    assert flat.module[1].num_batches_tracked == 1
    flat.load(flat.read())
    assert flat.module[1].num_batches_tracked == 0


def test_names_are_those_of_the_state_dict_and_load_into_a_plain_module():
    module = network()
    flat = FlatModule(copy.deepcopy(module))
    vector = torch.randn(len(flat.vector))
    flat.load(vector)
    module.load_state_dict(flat.named(vector), strict=True)
    x = torch.randn(2, 1, 8, 8)
    assert torch.allclose(module.eval()(x), flat.module.eval()(x), rtol=1e-4, atol=1e-4)
    assert all(tensor.is_contiguous() for tensor in flat.named(vector).values())


def test_convolutions_over_images_lie_channels_last():
    flat = FlatModule(nn.Sequential(nn.Conv2d(3, 5, 2), nn.Conv1d(2, 2, 3)))
    weight = flat.module[0].weight
    assert weight.is_contiguous(memory_format=torch.channels_last)
    assert weight.data_ptr() == flat.vector.data_ptr()
    x = torch.randn(2, 3, 6, 6)
    assert flat.module[0](x).is_contiguous(memory_format=torch.channels_last)


def test_tied_weights_are_one_piece_with_two_names():
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    module[1].weight = module[0].weight
    flat = FlatModule(module)
    assert len(flat.vector) == 9 + 3 + 3
    assert set(flat.named(flat.vector)) == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_frozen_parameters_come_after_the_trained_ones():
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    module[0].requires_grad_(False)
    flat = FlatModule(module)
    assert flat.trainable == 3
    assert torch.equal(flat.vector[3:7], module[0].weight.reshape(-1))


def test_dropout_is_refused_because_it_draws_by_order():
    with pytest.raises(InputError, match="'1' is a dropout layer"):
        FlatModule(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)))
