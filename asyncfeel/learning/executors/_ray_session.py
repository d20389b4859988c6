"""The connection to Ray: a local one that lives as long as the run, or a cluster that runs already."""

import logging
import math
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from asyncfeel.errors import InputError

QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
PATIENCE_S = 15.0
AGAIN_S = 0.5
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client greets a gRPC server: the preface of HTTP/2, and settings, of which there are none."""


class Session:
    """Ray, ready to be used; closing it ends what it began and leaves the rest alone."""

    def __init__(self, address: str | None, cpus: int | None, gpus: bool, store_bytes: int) -> None:
        """Without an address a local Ray is started, unless this process is connected to one already."""
        self.ray = module()
        self._own = not self.ray.is_initialized()
        self._folder: str | None = None
        if not self._own and address is not None:
            raise InputError("ray_address: this process is connected to Ray already: leave the address out")
        if self._own and address is None:
            self._start(cpus, gpus, store_bytes)
        elif address is not None:
            self._connect(address)
        if self._own:
            self._speak(False)
        resources = self.ray.cluster_resources()
        self.cpus = max(1, int(resources.get("CPU", 0)))
        self.gpus = int(resources.get("GPU", 0))

    def share(self, workers: int) -> float:
        """The part of a GPU that each worker gets if all GPUs are divided among them."""
        if not self.gpus:
            raise InputError("executor 'ray': the device is cuda, and Ray knows of no GPU")
        return 1 / math.ceil(workers / self.gpus)

    def at_once(self, workers: int) -> int:
        """How many tasks may be in flight: a second one for each worker is on its way while the first one runs.

        If there are fewer workers than cores, Ray would run the second one at once on another core.
        """
        return workers if workers < self.cpus else 2 * workers

    def cancel(self, references: list[Any]) -> None:
        """End these tasks; one that is interrupted just as it begins may go on, and is interrupted again."""
        left, deadline = references, time.monotonic() + PATIENCE_S
        while left and self.ray.is_initialized() and time.monotonic() < deadline:
            for reference in left:
                self.ray.cancel(reference)
            _, left = self.ray.wait(left, num_returns=len(left), timeout=AGAIN_S)

    def close(self) -> None:
        """Leave Ray; a local one ends, with its files."""
        if self._own:
            self.ray.shutdown()
            self._speak(True)
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _speak(self, aloud: bool) -> None:
        """Let Ray print on standard output what it says of lost machines, or not: it has no option for it."""
        self.ray._private.worker._worker_logs_enabled = aloud

    def _start(self, cpus: int | None, gpus: bool, store_bytes: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        given = {"num_cpus": cpus, "num_gpus": None if gpus else 0, "object_store_memory": store_bytes}
        with _signals_kept():
            context = self.ray.init(address="local", include_dashboard=False, **given, **QUIET)
        self._folder = context.address_info["session_dir"]

    def _connect(self, address: str) -> None:
        check(address)
        try:
            with _signals_kept():
                self.ray.init(address=address, **QUIET)
        except (OSError, RuntimeError, ValueError) as error:
            said = " ".join(str(error).split())
            raise InputError(f"ray_address {address!r}: Ray cannot be reached there: {said}") from error


def module() -> ModuleType:
    """The package ray, which is an extra."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise InputError("executor 'ray' needs the package ray: pip install 'asyncfeel[ray]'") from error
    found: ModuleType = ray
    return found


def check(address: str) -> None:
    """An error if no Ray can be at this address; Ray itself would try for minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise InputError(f"ray_address {address!r} must be auto or HOST:PORT, as 'ray start' prints it")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), PATIENCE_S) as line:
            line.sendall(PREFACE)
            # A server behind TLS is silent until it has been greeted in another way.
            if os.environ.get("RAY_USE_TLS", "0") in ("0", "") and line.recv(9)[3:4] != b"\x04":
                raise ConnectionError("something else answers")
    except (OSError, OverflowError) as error:
        raise InputError(f"ray_address {address!r}: Ray cannot be reached there: {error}") from error


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Keep the handler of SIGTERM, which Ray replaces by its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
