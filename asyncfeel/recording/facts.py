"""Whether a manifest has what it must have, in the types that its readers rely on."""

from collections.abc import Mapping
from typing import Any

TEXT, COUNT, NUMBER, TABLE = (str,), (int,), (int, float), (dict,)
NULL = (type(None),)
TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("status", "started", "kind", "algorithm", "topology", "psi", "dataset", "model", "executor"), TEXT
    ),
    **dict.fromkeys(("seed", "iterations", "steps", "diverged", "workers"), COUNT),
    **dict.fromkeys(("time_s", "flops_per_step", "model_bits"), NUMBER),
    **dict.fromkeys(("best_accuracy", "idle_share"), NUMBER + NULL),
    **dict.fromkeys(("versions", "machine", "traffic", "digests", "wall"), TABLE),
    **dict.fromkeys(("metrics", "consensus"), TABLE + NULL),
    "executor_note": TEXT + NULL,
    "by_client": (bool,),
    "servers": (list,),
}
WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    dict: "a table",
    list: "a list",
    bool: "true or false",
}


def check(data: Any) -> dict[str, Any]:
    """The manifest, or a `ValueError` that says what is wrong with it."""
    if not isinstance(data, dict):
        raise ValueError("it is not the manifest of a run")
    for key, types in TYPES.items():
        if key in data and type(data[key]) not in types:
            expected = " or ".join(WORDS.get(one, "null") for one in types)
            raise ValueError(f"{key} must be {expected}, not {str(data[key])[:100]!r}")
    return data


def process(data: Mapping[str, Any]) -> int:
    """The number of the process that made the run; 0 where there is none."""
    number = data.get("process")
    return number if type(number) is int and 0 < number < 2**31 else 0
