"""Where training runs: a name from the user becomes a device that is really there."""

import re

import torch

from asyncfeel.errors import InputError

ALLOWED = "auto, cpu, cuda, cuda:N, cuda:all or mps"


def choose(name: str) -> torch.device:
    """The device of that name, where models live; `auto` is the first CUDA device if there is one, else the CPU.

    >>> choose("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|mps|cuda(:[0-9]+|:all)?", name):
        raise InputError(f"device {name!r} is unknown: there are {ALLOWED}")
    kind, _, number = name.partition(":")
    if kind == "mps":
        return _present(torch.device("mps"), torch.backends.mps.is_available(), "torch sees no Apple GPU")
    if kind == "cuda":
        found, wanted = torch.cuda.device_count(), int(number) if number.isdecimal() else 0
        return _present(torch.device("cuda", wanted), wanted < found, f"torch sees {found} CUDA devices")
    return torch.device("cpu")


def spread(name: str) -> list[torch.device]:
    """The devices over which workers are spread: all CUDA devices for `cuda:all`, else the one of that name.

    >>> spread("cpu")
    [device(type='cpu')]
    """
    first = choose(name)
    count = torch.cuda.device_count() if name == "cuda:all" else 1
    return [first] if count == 1 else [torch.device("cuda", number) for number in range(count)]


def _present(device: torch.device, is_there: bool, reason: str) -> torch.device:
    if not is_there:
        raise InputError(f"device '{device}' is not there ({reason}): choose cpu or auto")
    return device
