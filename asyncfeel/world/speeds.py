"""How fast the devices are: each public function gives the FLOPS of every client (A15)."""

import math

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError
from asyncfeel.world import clients_file

GIVEN = frozenset({"clients", "rng"})
Flops = NDArray[np.float64]


def uniform(clients: int, rng: np.random.Generator, *, heterogeneity: float = 10.0, mean_flops: float = 1e9) -> Flops:
    """Uniform between two ends whose ratio is the heterogeneity gap H and whose middle is the mean.

    The slowest and the fastest client are pinned to the ends, so that max/min = H.
    """
    low, high = _ends(heterogeneity, mean_flops)
    return _pinned(rng.uniform(low, high, clients), low, high)


def log_uniform(
    clients: int, rng: np.random.Generator, *, heterogeneity: float = 10.0, mean_flops: float = 1e9
) -> Flops:
    """Log-uniform between the same ends as uniform: many slow devices, few fast ones."""
    low, high = _ends(heterogeneity, mean_flops)
    return _pinned(np.exp(rng.uniform(math.log(low), math.log(high), clients)), low, high)


def two_point(
    clients: int,
    rng: np.random.Generator,
    *,
    heterogeneity: float = 10.0,
    mean_flops: float = 1e9,
    slow_share: float = 0.5,
) -> Flops:
    """Two kinds of devices, one H times as fast as the other; the mean is as given."""
    if not 0 < slow_share < 1:
        raise InputError(f"speeds: slow_share must be between 0 and 1, not {slow_share}")
    _ends(heterogeneity, mean_flops)
    low = mean_flops / (slow_share + (1 - slow_share) * heterogeneity)
    slow = round(slow_share * clients)
    flops = np.full(clients, heterogeneity * low)
    flops[rng.permutation(clients)[:slow]] = low
    return flops


def log_normal(clients: int, rng: np.random.Generator, *, sigma: float = 0.5, mean_flops: float = 1e9) -> Flops:
    """Log-normal with the given mean; sigma is the spread of the logarithm."""
    _check_mean(mean_flops)
    if not 0 <= sigma < 20:
        raise InputError(f"speeds: sigma must be from 0 to 20, not {sigma}")
    return mean_flops * np.exp(sigma * rng.standard_normal(clients) - sigma**2 / 2)


def exponential(clients: int, rng: np.random.Generator, *, mean_flops: float = 1e9, least: float = 0.05) -> Flops:
    """Exponential with the given mean, but never below the share `least` of it."""
    _check_mean(mean_flops)
    if not 0 < least <= 1:
        raise InputError(f"speeds: least must be above 0 and at most 1, not {least}")
    return mean_flops * np.maximum(least, rng.exponential(size=clients))


def file(clients: int, *, path: str) -> Flops:
    """From a CSV of one's own with the column flops, a row per client (for example a clients.csv)."""
    flops = np.array(clients_file.column(path, clients, "flops"))
    if not (np.isfinite(flops).all() and (flops > 0).all()):
        raise InputError(f"the clients file {path!r}: every flops must be a positive number")
    return flops


def _ends(heterogeneity: float, mean_flops: float) -> tuple[float, float]:
    if not 1 <= heterogeneity <= 1e9:
        raise InputError(f"speeds: heterogeneity must be at least 1 (all alike), at most 1e9, not {heterogeneity}")
    _check_mean(mean_flops)
    low = 2 * mean_flops / (1 + heterogeneity)
    return low, heterogeneity * low


def _check_mean(mean_flops: float) -> None:
    if not 0 < mean_flops < math.inf:
        raise InputError(f"speeds: mean_flops must be positive, not {mean_flops:g}")


def _pinned(flops: Flops, low: float, high: float) -> Flops:
    """The draws with the slowest at the low end and the fastest at the high end, the others kept."""
    if len(flops) == 1:
        return np.array([(low + high) / 2])
    slowest, fastest = int(flops.argmin()), int(flops.argmax())
    if slowest == fastest:
        fastest = (slowest + 1) % len(flops)
    flops[slowest], flops[fastest] = low, high
    return np.clip(flops, low, high)
