"""A staleness function of one's own: a model's weight halves every few iterations.

From the command line, in this folder: asyncfeel run --psi custom_psi:half_life --set psi.half=2
"""

import tempfile
from collections.abc import Callable

from asyncfeel import Scenario, run


def half_life(*, half: float = 3.0) -> Callable[[int], float]:
    """Halves every `half` iterations."""
    return lambda staleness: 0.5 ** (staleness / half)


if __name__ == "__main__":
    scenario = Scenario.load(psi=f"{__file__}:half_life", set={"psi.half": 2.0}, iterations=12)
    result = run(scenario, tempfile.mkdtemp(), train=False)
    last = result.staleness["iteration"] == 11
    print("trigger", result.staleness["trigger"][last][0])
    for server, staleness, weight in zip(
        *(result.staleness[name][last] for name in ("server", "staleness", "weight")), strict=True
    ):
        print(f"server {server}: staleness {staleness}, weight {weight:.4f}")
