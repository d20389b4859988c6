"""Runs a script in a process of its own and watches the memory of all that it starts."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import work

EVERY_S = 1.5
PROC = Path("/proc")


class Failed(Exception):
    """A run that does not count."""


def run(command: list[str], folder: Path, variables: dict[str, str], timeout_s: float) -> dict[str, Any]:
    """What the script reports, with the memory of its whole family of processes where that can be seen.

    `variables` are added to the environment.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | variables | {work.STARTED: str(time.time()), "PYTHONWARNINGS": "ignore"},
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        watch = Watch(process.pid)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"not finished after {timeout_s:.0f} s") from error
        finally:
            peak_mb = watch.stop()
            if process.poll() is None:
                end(process)
        row = _row(code, _read(output), _read(errors))
        return row | {"peak_mb": max(row["peak_mb"], round(peak_mb))}


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it has started."""
    for pid in family(process.pid) if PROC.is_dir() else [process.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _read(file: Any) -> list[str]:
    file.seek(0)
    return [line for line in file.read().splitlines() if line.strip()]


def _row(code: int, output: list[str], errors: list[str]) -> dict[str, Any]:
    lines = [line for line in output if line.startswith('{"peer"')]
    if code or not lines:
        told = [line for line in errors if "Error" in line] or errors  # launchers end with a frame around the error
        raise Failed(f"ended with {code}: {' '.join(told[-1:]).strip()}")
    row: dict[str, Any] = json.loads(lines[-1])
    return row


class Watch:
    """Looks now and then how much memory a process and its descendants hold; 0 where there is no /proc."""

    def __init__(self, pid: int) -> None:
        self._pid, self._peak_mb, self._over = pid, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        if PROC.is_dir():
            self._thread.start()

    def stop(self) -> float:
        """The most that was seen, in MB."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        return self._peak_mb

    def _look(self) -> None:
        while not self._over.wait(EVERY_S):
            self._peak_mb = max(self._peak_mb, sum(map(held_mb, family(self._pid))))


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (parent := _parent(entry)) is not None:
            children[parent].append(int(entry.name))
    found = [pid]
    for one in found:
        found.extend(children[one])
    return found


def _parent(entry: Path) -> int | None:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def held_mb(pid: int) -> float:
    """The memory of one process; what it shares with others counts in part (the kernel's Pss)."""
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("Pss:"))
