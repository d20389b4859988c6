"""A result that a worker still computes: it can be awaited, asked for or waited for."""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Pending(Generic[T]):
    """An awaitable around a future; it needs an event loop only if it is awaited before it is done."""

    __slots__ = ("_future", "_hurry")

    def __init__(self, future: Future[T], hurry: Callable[[], None] | None = None) -> None:
        """`hurry` tells the workers that somebody waits."""
        self._future = future
        self._hurry = hurry

    def __await__(self) -> Generator[Any, None, T]:
        if self._future.done():
            return self._future.result()
        self.hurry()
        return (yield from asyncio.wrap_future(self._future).__await__())

    def done(self) -> bool:
        """Whether there is a result, or an error."""
        return self._future.done()

    def result(self) -> T:
        """The result, waited for if need be; or the worker's error."""
        self.hurry()
        return self._future.result()

    def hurry(self) -> None:
        """Ask for it to be done before what nobody waits for."""
        if self._hurry is not None:
            self._hurry()


def finished(value: T) -> Pending[T]:
    """A result that is there already."""
    future: Future[T] = Future()
    future.set_result(value)
    return Pending(future)
