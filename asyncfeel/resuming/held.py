"""Models with numbers: what makes it possible to save just those that are still in use, and to find their owners again.

A run creates models in an order that follows from the schedule alone. So the n-th model of a run is
also the n-th model of its replay, whoever holds it: a server, a cache, a buffer, a job in flight. In a
replay a model is absent, and whatever is computed from it is absent too.
"""

from typing import Any, Final
from weakref import WeakValueDictionary


class _Absent:
    """What stands in a replay for a model that is not known yet."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()


class Held:
    """A model with its number. It can be added, subtracted and multiplied by a number, as a model can."""

    __slots__ = ("__weakref__", "_shelf", "_value", "number")

    def __init__(self, shelf: "Shelf", number: int, value: Any) -> None:
        self._shelf = shelf
        self.number = number
        self._value = value

    @property
    def value(self) -> Any:
        """The model itself."""
        if self._value is ABSENT and not self._shelf.replaying:
            raise RuntimeError(f"model {self.number} is used, but the checkpoint does not have it")
        return self._value

    @property
    def known(self) -> bool:
        """Whether the model is there."""
        return self._value is not ABSENT

    def put(self, value: Any) -> None:
        """Give a stand-in its model."""
        self._value = value

    def __add__(self, other: Any) -> "Held":
        return self._shelf.hold(_both(self.value, other, lambda one, two: one + two))

    def __radd__(self, other: Any) -> "Held":
        return self._shelf.hold(_both(self.value, other, lambda one, two: two + one))

    def __sub__(self, other: Any) -> "Held":
        return self._shelf.hold(_both(self.value, other, lambda one, two: one - two))

    def __rsub__(self, other: Any) -> "Held":
        return self._shelf.hold(_both(self.value, other, lambda one, two: two - one))

    def __mul__(self, factor: Any) -> "Held":
        return self._shelf.hold(_both(self.value, factor, lambda one, two: one * two))

    def __rmul__(self, factor: Any) -> "Held":
        return self._shelf.hold(_both(self.value, factor, lambda one, two: two * one))

    def __truediv__(self, divisor: Any) -> "Held":
        return self._shelf.hold(_both(self.value, divisor, lambda one, two: one / two))

    def __neg__(self) -> "Held":
        return -1 * self

    def __iadd__(self, other: Any) -> "Held":
        self._value = _both(self.value, other, _add_in_place)
        return self

    def add_(self, other: Any, alpha: float) -> "Held":
        """Add so many times another model in place."""
        self._value = _both(self.value, other, lambda one, two: _add_many_in_place(one, two, alpha))
        return self

    def __isub__(self, other: Any) -> "Held":
        self._value = _both(self.value, other, _subtract_in_place)
        return self

    def __imul__(self, factor: Any) -> "Held":
        self._value = _both(self.value, factor, _multiply_in_place)
        return self


class Shelf:
    """All models of a run that anybody still holds, by number."""

    def __init__(self, replaying: bool = False) -> None:
        self.replaying = replaying
        """Whether models are still absent."""
        self.count = 0
        """How many models there have been."""
        self._held: WeakValueDictionary[int, Held] = WeakValueDictionary()

    def hold(self, value: Any) -> Held:
        """A model with the next number."""
        held = self._held[self.count] = Held(self, self.count, value)
        self.count += 1
        return held

    def live(self, before: int) -> dict[int, Held]:
        """The models that somebody holds, of those that were made before the one of that number."""
        return {number: held for number, held in sorted(self._held.items()) if number < before}


def value_of(model: Any) -> Any:
    """The model itself, whether it is held or not."""
    return model.value if isinstance(model, Held) else model


def _both(one: Any, other: Any, combine: Any) -> Any:
    two = value_of(other)
    return ABSENT if one is ABSENT or two is ABSENT else combine(one, two)


def _add_in_place(one: Any, two: Any) -> Any:
    one += two
    return one


def _add_many_in_place(one: Any, two: Any, times: float) -> Any:
    if hasattr(one, "add_"):
        return one.add_(two, alpha=times)
    one += times * two
    return one


def _subtract_in_place(one: Any, two: Any) -> Any:
    one -= two
    return one


def _multiply_in_place(one: Any, two: Any) -> Any:
    one *= two
    return one
