"""How a command meets its user: errors as one line with an exit code, Ctrl-C as a clean end."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from asyncfeel.errors import AsyncFeelError, Hung, InputError


@contextmanager
def reported() -> Iterator[None]:
    """Turn asyncfeel's own errors into one line and an exit code: 2 for wrong input, else 1."""
    try:
        yield
    except InputError as error:
        _fail(error, 2)
    except Hung as error:
        with contextlib.suppress(SystemExit):
            _fail(error, 1)
        sys.stderr.flush()
        os._exit(1)  # Python would wait for the thread that hangs
    except AsyncFeelError as error:
        _fail(error, 1)


def _fail(error: AsyncFeelError, code: int) -> NoReturn:
    print("error:", " ".join(str(error).split()), file=sys.stderr)
    raise SystemExit(code)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, so that a run ends cleanly; a second Ctrl-C ends it at once."""
    stop = threading.Event()

    def request(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
