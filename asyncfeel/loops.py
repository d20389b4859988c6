"""Coroutines run to their end, also where an event loop is running already."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def complete(work: Coroutine[Any, Any, T], stop: threading.Event) -> T:
    """Run a coroutine to its end, in a thread of its own if this one has a running loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=target, name="asyncfeel")
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        stop.set()
        thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
