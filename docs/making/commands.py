"""The tables of docs/commands.md, from the command line itself.

The page is prose with marked places, `<!-- flags: NAME -->` to `<!-- end -->`. What is between the marks is written
here; a command that has no place yet gets a section after the others.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

from typer.models import ArgumentInfo

from asyncfeel import flags
from asyncfeel.cli import app, root

PAGE = Path(__file__).parents[1] / "commands.md"
GROUPS = {"scenario": flags.scenario, "output": flags.output}
"""Flags that several commands share have a table of their own."""
TITLES = {
    "scenario": "[flags of a scenario](#flags-of-a-scenario)",
    "output": "[flags of the output](#flags-of-the-output)",
}
WORDS = {"str": "text", "int": "whole number", "float": "number", "Path": "path", "bool": ""}
SHARED = "## Flags of a scenario\n"
"""The heading before which new commands go."""
PLACE = re.compile(r"<!-- flags: (?P<name>[\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def commands() -> dict[str, Callable[..., Any]]:
    """Every command by its name, in the order of --help."""
    return {_name(info): info.callback for info in app.registered_commands if info.callback and not info.hidden}


def files() -> dict[Path, str]:
    """The page with all its tables as they should be."""
    page = PAGE.read_text(encoding="utf-8")
    found = {place["name"] for place in PLACE.finditer(page)}
    missing = [name for name in commands() if name not in found]
    before, heading, after = page.partition(SHARED)
    sections = "".join(f"## {name}\n\n<!-- flags: {name} -->\n<!-- end -->\n\n" for name in missing)
    page = before + sections + heading + after
    return {PAGE: PLACE.sub(_filled, page)}


def _filled(place: re.Match[str]) -> str:
    return f"<!-- flags: {place['name']} -->\n\n{block(place['name'])}\n\n<!-- end -->"


def block(name: str) -> str:
    """What stands between two marks: a group's table, or all about a command."""
    if name == "asyncfeel":
        return "\n".join(table(parameters(root)))
    if name in GROUPS:
        return "\n".join(table(parameters(GROUPS[name])))
    if name not in commands():
        raise SystemExit(f"docs/commands.md has a place for {name!r}: there are {', '.join(commands())}")
    return "\n".join(about(name, commands()[name]))


def about(name: str, command: Callable[..., Any]) -> Iterator[str]:
    """What a command does, how it is called, and its own flags."""
    own = parameters(command)
    shared = [group for group, members in GROUPS.items() if parameters(members).keys() <= own.keys()]
    own = {key: one for key, one in own.items() if not any(key in parameters(GROUPS[group]) for group in shared)}
    words = [_metavar(one) for one in own.values() if _is_argument(one)]
    options = ["[FLAGS]"] if shared or len(words) < len(own) else []
    yield f"{inspect.cleandoc(command.__doc__ or '')}\n"
    yield f"```text\n{' '.join(['asyncfeel', name, *words, *options])}\n```\n"
    yield from table(own)
    if shared:
        yield ("\nAnd the " if own else "The ") + " and the ".join(TITLES[group] for group in shared) + "."


def parameters(command: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The flags and arguments of a command by the names that Python has for them."""
    found = inspect.signature(command).parameters
    return {name: one for name, one in found.items() if get_args(one.annotation)}


def table(found: dict[str, inspect.Parameter]) -> Iterator[str]:
    """A row for each flag or argument."""
    if not found:
        return
    arguments = any(_is_argument(one) for one in found.values())
    yield f"| {'argument or flag' if arguments else 'flag'} | value | meaning |"
    yield "|---|---|---|"
    for one in found.values():
        info = get_args(one.annotation)[1]
        yield f"| `{_spelt(one)}` | {_value(one)} | {(info.help or '').replace('|', chr(92) + '|')} |"


def _name(info: Any) -> str:
    return str(info.name or info.callback.__name__.replace("_", "-"))


def _is_argument(one: inspect.Parameter) -> bool:
    return isinstance(get_args(one.annotation)[1], ArgumentInfo)


def _spelt(one: inspect.Parameter) -> str:
    if _is_argument(one):
        return one.name.strip("_").upper()
    info = get_args(one.annotation)[1]
    # In an annotation Typer takes the first name for a default, and puts it right when it is called.
    declared = [word for word in (info.default, *(info.param_decls or ())) if str(word).startswith("-")]
    return ", ".join(declared) or "--" + one.name.replace("_", "-")


def _metavar(one: inspect.Parameter) -> str:
    """An argument as the line that shows the call has it: in brackets if it may be left out."""
    several = "..." if "list[" in str(get_args(one.annotation)[0]) else ""
    word = _spelt(one) + several
    return word if one.default is inspect.Parameter.empty else f"[{word}]"


def _value(one: inspect.Parameter) -> str:
    """The kind of value in words, and the default if there is one worth telling."""
    kind = get_args(one.annotation)[0]
    plain = next((word for name, word in WORDS.items() if re.search(rf"\b{name}\b", str(kind))), str(kind))
    default = one.default
    told = default not in (None, False, inspect.Parameter.empty)
    return plain + (f", default `{default}`" if told else "")
