"""How a command meets its user: errors as one line with an exit code, Ctrl-C as a clean end.

Exit codes: 0 done, 1 a run or a check failed, 2 wrong input, 70 an error of asyncfeel's own, 130 Ctrl-C.
"""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn

from asyncfeel.errors import AsyncFeelError, Hung, InputError

LONGEST = 2000
"""Characters of an error that are printed: a hostile file can put megabytes into one."""
INTERNAL = 70
DEBUG = ContextVar("debug", default=False)
"""Whether the command that is running was given `--debug`."""


@contextmanager
def reported() -> Iterator[None]:
    """Turn errors into one line and an exit code; with `--debug`, show where they come from as well."""
    try:
        yield
    except Exception as error:
        if DEBUG.get():
            traceback.print_exc()
        if isinstance(error, Hung):
            print(printable(f"error: {error}"), file=sys.stderr, flush=True)
            os._exit(1)  # Python would wait for the thread that hangs
        _fail(*_told(error))


def _told(error: Exception) -> tuple[str, int]:
    """What to say about an error, and the exit code."""
    if isinstance(error, AsyncFeelError):
        return f"error: {error}", 2 if isinstance(error, InputError) else 1
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has gone; nothing that Python still holds can be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return "", 1
    if isinstance(error, OSError):
        where = f" {error.filename!r}" if error.filename is not None else ""
        return f"error: the system refused something{where}: {error.strerror or error}", 1
    if isinstance(error, MemoryError) or "allocate memory" in str(error) or "out of memory" in str(error):
        return f"error: there is not enough memory: use fewer clients or servers, or smaller data ({error})", 1
    kind = type(error).__name__
    return f"internal error: {kind}: {error}: run it again with --debug and report what it shows", INTERNAL


def _fail(message: str, code: int) -> NoReturn:
    if message:
        print(printable(message), file=sys.stderr)
    raise SystemExit(code)


def printable(message: str) -> str:
    r"""A text as one line that leaves the terminal alone.

    >>> printable("two\nlines and \x1b[31mred")
    'two lines and \\x1b[31mred'
    """
    short = message if len(message) <= LONGEST else f"{message[:LONGEST]} ..."
    line = " ".join(short.split())
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in line)


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
