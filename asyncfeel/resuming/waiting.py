"""Waiting for workers that may fail: what dies, raises or hangs is tried once more, and then the run ends clearly."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from asyncfeel.errors import AsyncFeelError, Broken, Hung


async def twice(first: Awaitable[Any], start: Callable[[], Awaitable[Any]], what: str, limit_s: float | None) -> Any:
    """The result of what was started first, or else of a second try.

    A job is a value, so a second try gives what the first one would have given. Errors of asyncfeel's own
    are not a worker's: they are passed on at once.
    """
    try:
        return await _within(first, limit_s)
    except AsyncFeelError:
        raise
    except Exception:  # whatever a worker's code may raise
        again = start()
    try:
        return await _within(again, limit_s)
    except AsyncFeelError:
        raise
    except TimeoutError as error:
        raise Hung(
            f"{what} took longer than execution.timeout_s = {limit_s:g} real seconds, twice: a worker hangs, or the "
            "limit is too short; what was recorded is kept, and 'asyncfeel resume' goes on"
        ) from error
    except Exception as error:
        raise Broken(
            f"{what} failed twice in a worker ({type(error).__name__}: {' '.join(str(error).split())}); "
            "what was recorded is kept, and 'asyncfeel resume' goes on"
        ) from error


async def _within(work: Awaitable[Any], limit_s: float | None) -> Any:
    return await (work if limit_s is None else asyncio.wait_for(_awaited(work), limit_s))


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work
