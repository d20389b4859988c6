"""Quantities with units: the unit of a key is in its name, and a text may bring its own."""

import math
import re

from asyncfeel.errors import InputError

_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_TIMES = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SUFFIXES = {
    "_bps": ("bps", "bit/s", "b/s"),
    "_bits": ("bit", "bits", "b"),
    "_flops": ("FLOPS", "flops"),
    "_per_step": ("FLOP", "FLOPs"),
}


def quantity(key: str, text: str) -> float:
    """The number that a text means for a key, in the unit of the key's name.

    >>> quantity("until_s", "2h"), quantity("uplink_bps", "5 Mbps"), quantity("mean_flops", "1G")
    (7200.0, 5000000.0, 1000000000.0)
    """
    match = re.fullmatch(r"\s*(-?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z/]*)\s*", text)
    factor = _factor(key, match[2]) if match else None
    if match is None or factor is None or not _is_number(match[1]):
        raise InputError(
            f"{key}: {text!r} is not a quantity: write a number, or one with a unit such as {_example(key)}"
        )
    return float(match[1]) * factor


def has_unit(key: str) -> bool:
    """Whether a key carries its unit in its name."""
    return key.endswith("_s") or any(key.endswith(suffix) for suffix in _SUFFIXES)


def _factor(key: str, unit: str) -> float | None:
    if key.endswith("_s"):
        return _TIMES.get(unit or "s")
    names = next((names for suffix, names in _SUFFIXES.items() if key.endswith(suffix)), ())
    stem = next((unit[: -len(name)] for name in sorted(names, key=len, reverse=True) if unit.endswith(name)), unit)
    return _PREFIXES.get(stem)


def _example(key: str) -> str:
    if key.endswith("_s"):
        return "'90s', '30m', '2h' or '1d'"
    names = next((names for suffix, names in _SUFFIXES.items() if key.endswith(suffix)), ("",))
    return f"'5M{names[0]}'"


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def duration(seconds: float) -> str:
    """A duration for people.

    >>> duration(75), duration(7500), duration(0.25)
    ('75.0 s', '2 h 05 min', '0.25 s')
    """
    if seconds < 10:
        return f"{seconds:.3g} s"
    if seconds < 600:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    hours, rest = divmod(seconds, 3600)
    return f"{hours:,.0f} h {rest // 60:02.0f} min"
