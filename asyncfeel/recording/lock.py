"""A folder for one process at a time: two runs that write the same files would both be lost."""

import contextlib
import os
from pathlib import Path

from asyncfeel.errors import InputError

try:
    import fcntl
except ImportError:  # no POSIX: there the process in the manifest is all that tells of another run
    fcntl = None  # type: ignore[assignment]

NAME = ".lock"


class Lock:
    """Held from the making of a run folder to its end; the system gives it up for a process that dies."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._file = -1
        if fcntl is not None:
            self._acquire(folder)

    def _acquire(self, folder: Path) -> None:
        while True:
            self._file = os.open(self._path, os.O_CREAT | os.O_RDWR)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(self._file)
                raise InputError(
                    f"the folder {str(folder)!r} is in use by another process: wait for its end"
                ) from error
            with contextlib.suppress(OSError):
                if os.stat(self._path).st_ino == os.fstat(self._file).st_ino:
                    return
            os.close(self._file)  # somebody removed the file between the two calls

    def release(self) -> None:
        """Let others use the folder."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1
