"""Scenarios as TOML text, and back."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.plugins import Plugin
from asyncfeel.scenario.sections import Scenario


def read(path: Path) -> dict[str, Any]:
    """The nested table in a TOML file."""
    return safe_files.load_toml(path, "the scenario file")


def parse_assignment(text: str) -> tuple[str, Any]:
    """The key and the value of `--set a.b=c`; the value is read as TOML, or else as a text.

    >>> parse_assignment("psi.a=0.5"), parse_assignment("topology.kind=ring")
    (('psi.a', 0.5), ('topology.kind', 'ring'))
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set takes key=value, for example psi.kind=hinge, not {text!r}")
    return key.strip(), parse_value(value.strip())


def parse_value(text: str) -> Any:
    """A TOML value, or the text itself where it is none."""
    try:
        return safe_files.parse_toml(f"value = {text}", "the value")["value"]
    except InputError:
        return text


Explain = Callable[[str, str], Mapping[str, str]]


def write(scenario: Scenario, heading: str = "", explain: Explain | None = None) -> str:
    """The scenario as TOML, complete; with comments if there is somebody to explain the plug-ins' options."""
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    comments = explain is not None
    lines.append('preset = "none"' + ("  # this file is complete: it builds on the bare defaults" if comments else ""))
    fields = dataclasses.fields(scenario)
    plain = [field for field in fields if not _is_section(getattr(scenario, field.name))]
    for field in plain:
        lines += _entry(field, getattr(scenario, field.name), comments)
    for field in fields:
        if field not in plain:
            value = getattr(scenario, field.name)
            plugin = isinstance(value, Plugin)
            lines += ["", *(_plugin(field, value, explain) if plugin else _section(field, value, comments))]
    return "\n".join(lines) + "\n"


def _is_section(value: Any) -> bool:
    return isinstance(value, Plugin) or dataclasses.is_dataclass(value)


def _section(field: "dataclasses.Field[Any]", value: Any, comments: bool) -> Iterator[str]:
    yield f"[{field.name}]" + (f"  # {field.metadata['help']}" if comments else "")
    for inner in dataclasses.fields(value):
        yield from _entry(inner, getattr(value, inner.name), comments)


def _plugin(field: "dataclasses.Field[Any]", plugin: Plugin, explain: Explain | None) -> Iterator[str]:
    comments = explain is not None
    meanings = explain(field.name, plugin.kind) if explain else {}
    yield f"[{field.name}]" + (f"  # {field.metadata['help']}" if comments else "")
    yield f"kind = {literal(plugin.kind)}" + (f"  # see 'asyncfeel list {field.name}'" if comments else "")
    for key, item in plugin.options.items():
        yield from _line(key, item, meanings.get(key, f"option of {literal(plugin.kind)}") if comments else None)


def _entry(field: "dataclasses.Field[Any]", value: Any, comments: bool) -> list[str]:
    return _line(field.name, value, field.metadata["help"] if comments else None)


def _line(key: str, value: Any, meaning: str | None) -> list[str]:
    if value is None:
        return [f"# {key} is not set  # {meaning}"] if meaning else []
    return [f"{key} = {literal(value)}" + (f"  # {meaning}" if meaning else "")]


def literal(value: Any) -> str:
    r"""A value as TOML writes it; floats keep every digit.

    >>> literal(True), literal(5e6), literal('a"b'), literal([1, 2])
    ('true', '5000000.0', '"a\\"b"', '[1, 2]')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(literal(item) for item in value)}]"
    if isinstance(value, str):
        return '"' + "".join(_character(character) for character in value) + '"'
    return repr(value)


def _character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08x}"
