"""What of the processor decides which way is the quicker one: the same on every run on one machine."""

import functools
from collections.abc import Mapping
from typing import Any

import torch


@functools.cache
def favours_direct() -> bool:
    """Whether direct convolutions compute twice as many numbers at once here as products of matrices do.

    So it is on AMD's processors from Zen 5 on: oneDNN, which convolves for torch, uses their vectors of 512 bits,
    and MKL, which multiplies, those of 256.
    """
    return _favours_direct(torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {})


def _favours_direct(found: Mapping[str, Any]) -> bool:
    return "AMD" in str(found.get("cpu_name", "")) and bool(found.get("avx512_f")) and bool(found.get("avx_vnni"))
