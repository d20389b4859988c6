"""One computing thread per operation, so that every executor gives the same bits.

A sum shared by several threads is added up in another order than by one. Parallelism comes from
jobs, of which there are many, and with one thread each they are also faster.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Everything inside, and every thread that first computes inside, uses one thread per operation."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
