"""A bound on memory, so that a hostile file ends in an error and not in a machine that swaps."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHARE = 0.75
"""The share of the machine's memory that a verification may take."""


@contextmanager
def bounded() -> Iterator[None]:
    """Have a MemoryError raised where more would be taken; on systems that cannot, nothing is bounded."""
    try:
        import resource

        page = os.sysconf("SC_PAGE_SIZE")
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * page
        most = used + int(SHARE * os.sysconf("SC_PHYS_PAGES") * page)
        before = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError, ValueError):
        yield
        return
    bound = min([most, *(limit for limit in before if limit != resource.RLIM_INFINITY)])
    resource.setrlimit(resource.RLIMIT_AS, (bound, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
