"""The numbers that came out of models: losses and norms, in the order in which the run asked for them.

Decisions may depend on them (patience, adaptive deadlines), and tables hold them. A replay has no
models, so it reads them here.
"""

from array import array
from collections.abc import Sequence

from asyncfeel.errors import InputError


class Journal:
    """Numbers that are written once and read again, in the same order, in a replay."""

    def __init__(self, recorded: Sequence[float] = ()) -> None:
        self._numbers = array("d", recorded)
        self._next = 0

    def __len__(self) -> int:
        """How many numbers the run has asked for so far."""
        return self._next

    def write(self, number: float) -> float:
        """Keep a number that was computed just now."""
        del self._numbers[self._next :]
        self._numbers.append(number)
        self._next += 1
        return number

    def read(self) -> float:
        """The next number that the run asked for when it was recorded."""
        if self._next == len(self._numbers):
            raise InputError("the checkpoint does not fit the scenario: the replay asks for a loss that it lacks")
        self._next += 1
        return self._numbers[self._next - 1]

    def numbers(self, count: int) -> Sequence[float]:
        """The first so many numbers."""
        return self._numbers[:count]
