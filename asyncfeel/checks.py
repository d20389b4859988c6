"""What plug-ins give, checked: a user's own function may give anything, and must not fail later."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError
from asyncfeel.learning.datasets.values import Dataset
from asyncfeel.learning.partition import Partition
from asyncfeel.plugins import Plugin, made
from asyncfeel.theory.staleness import Psi
from asyncfeel.world.presence import Presence
from asyncfeel.world.variation import Factor


def psi(given: Any, plugin: Plugin) -> Psi:
    """The psi, once it has shown that it is finite, not negative and does not grow."""
    name = f"psi {plugin.kind!r}"
    if not callable(given):
        raise InputError(f"{name} gave {given!r}: it must give a function of the staleness")
    values = [_number(name, made(name, given, (delta,))) for delta in range(101)]
    if not all(math.isfinite(value) and value >= 0 for value in values) or not values[0] > 0:
        raise InputError(f"{name} must be finite, above 0 at staleness 0 and never negative")
    if any(later > earlier for earlier, later in pairwise(values)):
        raise InputError(f"{name} grows with the staleness: a staler model must not count more")
    return lambda staleness: float(given(staleness))


def speeds(given: Any, plugin: Plugin, clients: int) -> NDArray[np.float64]:
    """The speeds as an array, one positive number per client."""
    name = f"speeds {plugin.kind!r}"
    try:
        flops = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} gave something that is not an array of numbers: {error}") from error
    if flops.shape != (clients,):
        raise InputError(f"{name} gave the shape {flops.shape}: it must give one number for each of {clients} clients")
    if not (np.isfinite(flops).all() and (flops > 0).all()):
        raise InputError(f"{name} gave FLOPS that are not positive, finite numbers (mean_flops, heterogeneity)")
    return flops


def factor(given: Any, what: str, plugin: Plugin) -> Factor:
    """The factor over time; every value that it gives must be positive and finite."""
    name = f"{what} {plugin.kind!r}"
    if not callable(given):
        raise InputError(f"{name} gave {given!r}: it must give a function of client and start time")
    if plugin.kind == "none":
        return cast(Factor, given)

    def checked(client: int, start_s: float) -> float:
        value = _number(name, made(name, given, (client, start_s)))
        if not 0 < value < math.inf:
            raise InputError(f"{name} gave {value} for client {client} at {start_s} s: a factor must be positive")
        return value

    checked(0, 0.0)
    return checked


def presence(given: Any, what: str, plugin: Plugin) -> Presence:
    """The presence over time, which must answer three questions."""
    for method in ("there", "leaves_s", "back_s"):
        if not callable(getattr(given, method, None)):
            raise InputError(f"{what} {plugin.kind!r} must give an object with the methods there, leaves_s and back_s")
    return cast(Presence, given)


def dataset(found: Any, plugin: Plugin) -> Dataset:
    """The data set, with labels that can be counted."""
    name = f"dataset {plugin.kind!r}"
    if not isinstance(found, Dataset):
        raise InputError(f"{name} gave a {type(found).__name__} instead of an asyncfeel.Dataset")
    given: Dataset = found
    for key in ("x_train", "y_train", "x_test", "y_test"):
        if key not in given.arrays:
            raise InputError(f"{name} has no {key}: there are {', '.join(given.arrays) or 'no arrays'}")
    if ":" in plugin.kind:
        if given.source == "the data set":
            given = replace(given, source=name)
        for part in ("train", "test"):
            samples, labels = len(given.arrays[f"x_{part}"]), len(given.arrays[f"y_{part}"])
            if samples != labels:
                raise InputError(f"{name}: x_{part} has {samples} samples and y_{part} {labels} labels")
    if given.loss == "cross-entropy" and len(given.y_train) and int(given.y_train.min()) < 0:
        raise InputError(f"{name}: labels must be whole numbers from 0, and one is {int(given.y_train.min())}")
    return given


def partition(given: Any, plugin: Plugin, clients: int) -> Partition:
    """The split, one part for each client."""
    if not isinstance(given, Partition) or len(given) != clients:
        raise InputError(f"split {plugin.kind!r} must give a Partition into {clients} parts")
    return given


def algorithm(given: Any, plugin: Plugin) -> Any:
    """The algorithm, which must know how to start and what it minimises."""
    for method in ("start", "objective"):
        if not callable(getattr(given, method, None)):
            raise InputError(f"algorithm {plugin.kind!r} must give an object with the method {method}(federation)")
    return given


def model(given: Any, plugin: Plugin) -> Any:
    """The model, which must be a torch module."""
    if not hasattr(given, "parameters") or not hasattr(given, "eval"):
        raise InputError(f"model {plugin.kind!r} gave a {type(given).__name__} instead of a torch.nn.Module")
    return given


def executor(given: Any, kind: str) -> Any:
    """The executor, which must know how to submit, evaluate and close."""
    for method in ("submit", "evaluate", "close"):
        if not callable(getattr(given, method, None)):
            raise InputError(f"executor {kind!r} must give an object with the method {method}")
    return given


def durations(network: Any) -> None:
    """An error if a phase would last for ever."""
    work_s, up_s = network.compute_s(int(network.flops.argmin()), 1, 0.0), network.uplink_s(0, 0.0)
    phases = [
        ("a step", "work.flops_per_step and speeds", work_s),
        ("an upload", "network.uplink_bps and network.model_bits", up_s),
        ("an exchange", "network.exchange_bps and network.model_bits", network.exchange_s(0, 0.0)),
        ("a download", "network.downlink_bps and network.model_bits", network.downlink_s(0, 0.0)),
    ]
    for what, key, seconds in phases:
        if not math.isfinite(seconds):
            raise InputError(f"{what} would last for ever: look at {key}")


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(f"{name} must give numbers, not {value!r}")
    return float(value)
