"""Layers of settings into one checked scenario: defaults, preset, file, dotted keys, short flags."""

import dataclasses
import difflib
import math
import re
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from asyncfeel import plugins, units
from asyncfeel.errors import InputError
from asyncfeel.plugins import Plugin
from asyncfeel.scenario import presets, text
from asyncfeel.scenario.sections import Scenario

FLAGS = {
    "algorithm": "algorithm.kind",
    "topology": "topology.kind",
    "psi": "psi.kind",
    "mixing": "algorithm.mixing",
    "servers": "federation.servers",
    "clients": "federation.clients",
    "heterogeneity": "speeds.heterogeneity",
    "dataset": "dataset.kind",
    "data_dir": "data_dir",
    "model": "model.kind",
    "until": "stop.until_s",
    "iterations": "stop.iterations",
    "seed": "seed",
    "executor": "execution.executor",
    "workers": "execution.workers",
    "device": "execution.device",
    "ray_address": "execution.ray_address",
}
"""The short flags of the command line, and the key that each of them sets."""

_EITHER = {"stop": ("until_s", "iterations"), "evaluation": ("every_s", "every_iterations")}
"""Keys of which a layer that sets one means to replace the others of lower layers."""

Table = dict[str, Any]


def load(preset: str | None, config: Path | None, dotted: Mapping[str, Any], flags: Mapping[str, Any]) -> Scenario:
    """The scenario that all layers together describe."""
    file = text.read(config) if config else {}
    named = file.pop("preset", "quick")
    scenario = _with(Scenario(), presets.read(preset if preset is not None else named), "preset")
    scenario = _with(scenario, file, f"{config}")
    _with(scenario, unfold(dotted, {}), "--set")
    return _with(scenario, unfold(dotted, flags), "--set")


def _with(scenario: Scenario, layer: Table, source: str) -> Scenario:
    """The scenario with one more layer on top; each layer is checked even where a later one overrides it."""
    return from_table(merge(as_table(scenario), _normal(layer, source)))


def replace(scenario: Scenario, dotted: Mapping[str, Any], flags: Mapping[str, Any]) -> Scenario:
    """The scenario with one more layer on top."""
    return _with(scenario, unfold(dotted, flags), "set")


def unfold(dotted: Mapping[str, Any], flags: Mapping[str, Any]) -> Table:
    """Dotted keys and short flags as one nested table."""
    for flag in flags:
        if flag not in FLAGS:
            raise _unknown("flag", flag, FLAGS)
    table: Table = {}
    for key, value in [*dotted.items(), *((FLAGS[flag], value) for flag, value in flags.items() if value is not None)]:
        _place(table, key, key.split("."), value)
    return table


def _place(table: Table, key: str, path: list[str], value: Any) -> None:
    for name in path[:-1]:
        if isinstance(table.get(name), str):
            table[name] = {"kind": table[name]}
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise InputError(f"{key!r} cannot be set: {name!r} has a value of its own already")
    if isinstance(value, str) and isinstance(table.get(path[-1]), dict):
        table[path[-1]]["kind"] = value
    else:
        table[path[-1]] = value


def _normal(table: Table, source: str) -> Table:
    """The layer with `psi = "hinge"` written out as a table, its sections checked by name."""
    fields = {field.name: field for field in dataclasses.fields(Scenario)}
    layer = {}
    for name, value in table.items():
        if name not in fields:
            raise _unknown(f"{source}: key", name, fields)
        if fields[name].type is Plugin and isinstance(value, str):
            value = {"kind": value}
        layer[name] = value
    return layer


def merge(base: Table, layer: Table) -> Table:
    """The base with the layer on top.

    A new `kind` leaves the keywords of the old one behind, and a new limit the other limits.
    """
    merged = dict(base)
    for name, value in layer.items():
        old = merged.get(name)
        if (
            not isinstance(value, dict)
            or not isinstance(old, dict)
            or value.get("kind", old.get("kind")) != old.get("kind")
        ):
            merged[name] = value
        else:
            either = _EITHER.get(name, ())
            dropped = either if any(key in value for key in either) else ()
            merged[name] = {key: kept for key, kept in old.items() if key not in dropped} | value
    return merged


def as_table(value: Any) -> Table:
    """A scenario, or a section, as a nested table; what is left out has no key."""
    table: Table = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if isinstance(item, Plugin):
            table[field.name] = {"kind": item.kind} | {
                key: kept for key, kept in item.options.items() if kept is not None
            }
        elif dataclasses.is_dataclass(item):
            table[field.name] = as_table(item)
        elif item is not None:
            table[field.name] = item
    return table


def dotted(table: Table, prefix: str = "") -> Table:
    """A nested table as one with dotted keys.

    >>> dotted({"seed": 1, "psi": {"kind": "hinge", "a": 5}})
    {'seed': 1, 'psi.kind': 'hinge', 'psi.a': 5}
    """
    found: Table = {}
    for key, value in table.items():
        found |= dotted(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def from_table(table: Table) -> Scenario:
    """The scenario in a nested table, every key and type checked."""
    return typing.cast(Scenario, _section("", Scenario, table))


def _section(path: str, section: type, table: Any) -> Any:
    if not isinstance(table, dict):
        raise InputError(f"[{path}] must be a section with keys, not {table!r}")
    fields = {field.name: field for field in dataclasses.fields(section)}
    hints = typing.get_type_hints(section)
    for key in table:
        if key not in fields:
            raise _unknown(f"[{path}]: key" if path else "key", key, fields)
    return section(
        **{key: _value(f"{path}.{key}".strip("."), fields[key], hints[key], value) for key, value in table.items()}
    )


def _value(path: str, field: "dataclasses.Field[Any]", hint: Any, value: Any) -> Any:
    if hint is Plugin:
        return _plugin(path, value)
    if dataclasses.is_dataclass(hint):
        return _section(path, typing.cast(type, hint), value)
    value = plugins.fit(path, _measured(path, hint, value), hint)
    _check_bounds(path, field.metadata, value)
    return value


def _measured(path: str, hint: Any, value: Any) -> Any:
    """A text with a unit as a number, where the key is a quantity and the text is no word of its own."""
    key = path.rpartition(".")[2]
    words = {
        word
        for part in typing.get_args(hint)
        if typing.get_origin(part) is typing.Literal
        for word in typing.get_args(part)
    }
    if not isinstance(value, str) or not units.has_unit(key) or value in words:
        return value
    try:
        return units.quantity(path, value)
    except InputError:
        if words:
            return value
        raise


def _check_bounds(path: str, bounds: Mapping[str, Any], value: Any) -> None:
    if bounds["pattern"] is not None and not re.fullmatch(bounds["pattern"], value):
        raise InputError(f"{path.rpartition('.')[2]} {value!r} is unknown: there are {bounds['help']}")
    if not isinstance(value, int | float):
        return
    if not math.isfinite(value):
        raise InputError(f"{path} must be finite, not {value}")
    if bounds["least"] is not None and value < bounds["least"]:
        raise InputError(f"{path} must be at least {bounds['least']:g}, not {value}")
    if bounds["above"] is not None and value <= bounds["above"]:
        raise InputError(f"{path} must be greater than {bounds['above']:g}, not {value}")
    if bounds["below"] is not None and value >= bounds["below"]:
        raise InputError(f"{path} must be less than {bounds['below']:g}, not {value}")
    if bounds["most"] is not None and value > bounds["most"]:
        raise InputError(f"{path} must be at most {bounds['most']:g}, not {value}")


def _plugin(path: str, value: Any) -> Plugin:
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise InputError(f"{path} must be a name, or a section with a kind, not {value!r}")
    options = {key: _option(f"{path}.{key}", item) for key, item in value.items() if key != "kind"}
    return Plugin(value["kind"], options)


def _option(path: str, value: Any) -> Any:
    if not isinstance(value, str | int | float | bool | list):
        raise InputError(f"{path} must be a number, a text, true or false, or a list, not {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{path} must be finite, not {value}")
    return _measured(path, Any, value)


def _unknown(what: str, name: str, names: Iterable[str]) -> InputError:
    close = difflib.get_close_matches(name, list(names), n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return InputError(f"{what} {name!r} is unknown: {hint}there are {', '.join(sorted(names))}")
