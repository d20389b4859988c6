"""What is compared: the axes along which a scenario is varied, and the variants that they span."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from asyncfeel.errors import InputError
from asyncfeel.scenario import text
from asyncfeel.scenario.build import FLAGS

MOST = 10_000
"""How many runs one comparison may have: more of them are a slip of the pen."""

Axes = Mapping[str, Sequence[Any]]
_SHORT = {key: flag for flag, key in FLAGS.items()}


@dataclass(frozen=True)
class Variant:
    """One point of the comparison: what people call it, its part of a folder's name, and what it sets."""

    name: str
    slug: str
    values: Mapping[str, Any]

    @property
    def dotted(self) -> dict[str, Any]:
        """Its values as dotted keys of the scenario; a table is that of the whole section."""
        found: dict[str, Any] = {}
        for key, value in self.values.items():
            if isinstance(value, dict):
                found |= {f"{key.removesuffix('.kind')}.{option}": item for option, item in value.items()}
            else:
                found[key] = value
        return found


def seeds(given: str) -> tuple[int, ...]:
    """The seeds in a list with ranges.

    >>> seeds("1..3"), seeds("1,2,5"), seeds("7, 1..2")
    ((1, 2, 3), (1, 2, 5), (7, 1, 2))
    """
    found: list[int] = []
    for part in given.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,18})\s*(?:\.\.\s*([0-9]{1,18})\s*)?", part)
        if match is None:
            raise InputError(f"--seeds takes whole numbers and ranges, such as 1..3 or 1,2,5, not {given!r}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InputError(f"--seeds: the range {part.strip()!r} is empty: write {last}..{first}")
        if last - first >= MOST:
            raise InputError(f"--seeds: the range {part.strip()!r} has more than {MOST:,} seeds")
        found += range(first, last + 1)
    return tuple(_distinct("--seeds", found))


def targets(given: Sequence[str]) -> tuple[float, ...]:
    """The test accuracies in one or several lists, in rising order.

    >>> targets(["0.9,0.5", "0.8"])
    (0.5, 0.8, 0.9)
    """
    return tuple(sorted({_target(part) for item in given for part in item.split(",")}))


def _target(given: str) -> float:
    try:
        target = float(given)
    except ValueError:
        target = math.nan
    if not 0 < target <= 1:
        raise InputError(f"--target takes a test accuracy above 0 and up to 1, such as 0.9, not {given.strip()!r}")
    return target


def axes(algorithms: str | None, vary: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """The axes of a comparison, in the order in which they were asked for.

    >>> axes("async-sd-feel,sync-sd-feel", ["psi=inverse,hinge", "training.learning_rate=0.1,0.2"])["psi.kind"]
    ('inverse', 'hinge')
    """
    found: dict[str, tuple[Any, ...]] = {}
    given = [] if algorithms is None else [_axis("--algorithms", f"algorithm={algorithms}")]
    for key, values in [*given, *(_axis("--vary", item) for item in vary)]:
        if key in found:
            raise InputError(f"{short(key)!r} is varied twice: give all its values at once")
        if key == "seed":
            raise InputError("seeds are varied with --seeds, for example --seeds 1..3")
        found[key] = values
    return found


def _axis(option: str, given: str) -> tuple[str, tuple[Any, ...]]:
    name, equals, listed = given.partition("=")
    name = name.strip()
    if not equals or not name:
        raise InputError(f"{option} takes key=value,value ..., for example psi.kind=inverse,hinge, not {given!r}")
    values = [text.parse_value(part.strip()) for part in split(listed)]
    if "" in values:
        raise InputError(f"{option}: a value of {name!r} is empty in {listed!r}")
    _distinct(f"{option}: {name}", [label(value) for value in values])
    return FLAGS.get(name.replace("-", "_"), name), tuple(values)


def split(listed: str) -> list[str]:
    """The parts between the commas that are in no quotes and no brackets.

    >>> split('inverse,{kind = "hinge", b = 2},[1,2]')
    ['inverse', '{kind = "hinge", b = 2}', '[1,2]']
    """
    parts, depth, quote = [""], 0, ""
    for character in listed:
        if character == "," and depth <= 0 and not quote:
            parts.append("")
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and (depth > 0 or not parts[-1].strip()):
            quote = character
        else:
            depth += (character in "[{") - (character in "]}")
        parts[-1] += character
    return parts


def _distinct(what: str, items: list[Any]) -> list[Any]:
    item, times = Counter(items).most_common(1)[0]
    if times > 1:
        raise InputError(f"{what} has {item!s} twice")
    return items


def label(value: Any) -> str:
    """A value as it appears in the name of a variant.

    >>> label("hinge"), label(0.5), label({"kind": "hinge", "b": 2})
    ('hinge', '0.5', 'hinge(b=2)')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        options = ",".join(f"{key}={label(item)}" for key, item in value.items() if key != "kind")
        return label(value.get("kind", "")) + (f"({options})" if options else "")
    return text.literal(value)


def short(key: str) -> str:
    """The flag that sets a key, or the key itself if there is none.

    >>> short("psi.kind"), short("training.momentum")
    ('psi', 'training.momentum')
    """
    return _SHORT.get(key, key)


def expand(axes: Axes, otherwise: str) -> list[Variant]:
    """Every combination of the values, named by what differs; `otherwise` is the name where nothing does.

    >>> [one.name for one in expand({"algorithm.kind": ["a", "b"], "psi.kind": ["hinge"]}, "")]
    ['a', 'b']
    """
    differing = [key for key, values in axes.items() if len(values) > 1] or list(axes)
    points = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    names = [",".join(_part(key, point[key]) for key in differing) or otherwise for point in points]
    return [Variant(name, slug, point) for name, slug, point in zip(names, slugs(names), points, strict=True)]


def _part(key: str, value: Any) -> str:
    return label(value) if key == "algorithm.kind" else f"{short(key)}={label(value)}"


def slugs(names: Sequence[str]) -> list[str]:
    """The names as parts of file names, each different from the others on any file system.

    >>> slugs(["topology=ring", "topology=maps/a.json", "topology=maps?a.json"])
    ['topology=ring', 'topology=maps-a.json', 'topology=maps-a.json-2']
    """
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9._=,+-]+", "-", name)[:80].strip("-.,") or "variant"
        slug, number = plain, 2
        while slug.lower() in taken:
            slug, number = f"{plain}-{number}", number + 1
        taken.add(slug.lower())
        found.append(slug)
    return found
