"""Devices by name."""

import pytest
import torch

from asyncfeel.errors import InputError
from asyncfeel.learning.devices import choose
from asyncfeel.learning.intraop import one_thread


def test_cpu_and_auto():
    assert choose("cpu") == torch.device("cpu")
    assert choose("auto").type in ("cpu", "cuda")


@pytest.mark.parametrize("name", ["gpu", "cpu:0", "cuda:", "cuda:x", "cuda:-1", ""])
def test_unknown_names_are_refused_with_the_known_ones(name: str):
    with pytest.raises(InputError, match=r"is unknown: there are auto, cpu, cuda, cuda:N, cuda:all or mps"):
        choose(name)


def test_a_device_that_is_not_there_is_no_silent_cpu():
    with pytest.raises(InputError, match=r"'cuda:97' is not there .*choose cpu or auto"):
        choose("cuda:97")


def test_the_number_of_threads_comes_back():
    torch.set_num_threads(2)
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
