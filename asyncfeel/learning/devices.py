"""Where training runs: a name from the user becomes a device that is really there."""

import re

import torch

from asyncfeel.errors import InputError

ALLOWED = "auto, cpu, cuda, cuda:N or mps"


def choose(name: str) -> torch.device:
    """The device of that name; `auto` is the first CUDA device if there is one, else the CPU.

    >>> choose("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|mps|cuda(:[0-9]+)?", name):
        raise InputError(f"device {name!r} is unknown: there are {ALLOWED}")
    kind, _, number = name.partition(":")
    if kind == "mps":
        return _present(torch.device("mps"), torch.backends.mps.is_available(), "torch sees no Apple GPU")
    if kind == "cuda":
        found, wanted = torch.cuda.device_count(), int(number or 0)
        return _present(torch.device("cuda", wanted), wanted < found, f"torch sees {found} CUDA devices")
    return torch.device("cpu")


def _present(device: torch.device, is_there: bool, reason: str) -> torch.device:
    if not is_there:
        raise InputError(f"device '{device}' is not there ({reason}): choose cpu or auto")
    return device
