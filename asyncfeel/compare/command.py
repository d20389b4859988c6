"""The command line of a comparison: its flags, or the folder that it goes on with, as a request."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from asyncfeel.compare import folder, variants
from asyncfeel.compare import request as requests
from asyncfeel.compare.request import Request
from asyncfeel.errors import InputError
from asyncfeel.scenario import Scenario, text
from asyncfeel.scenario.build import FLAGS

_SOURCES = ("algorithms", "seeds", "vary", "preset", "config", "set_", *FLAGS)


def request(arguments: Mapping[str, Any]) -> Request:
    """What the flags ask for; with nothing but a comparison's folder, what that was made for."""
    out, targets = arguments["out"], variants.targets(arguments["target"] or [])
    bare = all(arguments[name] in (None, []) for name in _SOURCES)
    if bare and out is not None and folder.holds_comparison(out):
        kept = requests.read(out)
        return replace(kept, targets=targets or kept.targets)
    return _asked(arguments, targets)


def _asked(arguments: Mapping[str, Any], targets: Sequence[float]) -> Request:
    axes = variants.axes(arguments["algorithms"], arguments["vary"] or [])
    seeds = None if arguments["seeds"] is None else variants.seeds(arguments["seeds"])
    if not axes and seeds is None:
        raise InputError("there is nothing to compare: give --algorithms, --vary or --seeds")
    dotted = dict(text.parse_assignment(item) for item in arguments["set_"] or [])
    flags = {name: arguments[name] for name in FLAGS if arguments[name] is not None}
    given = dotted | {FLAGS[flag]: value for flag, value in flags.items()}
    preset, config = arguments["preset"], arguments["config"]
    complete = Scenario.load(preset, config, dotted, **flags)
    return Request(Scenario.load(preset, config), axes, seeds or (complete.seed,), targets, given)
