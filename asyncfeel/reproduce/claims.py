"""The paper's four claims, each judged by a rule from the mean curves over the seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from asyncfeel.reproduce.pairs import Pair

EARLY, LATE, SIMILAR = 0.25, 0.9, 0.02
"""The early part of the time ends here, the late part begins here; leads up to this are called similar."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: its name in tables and files, in words, and how it is decided."""

    name: str
    words: str
    rule: str


CLAIMS = (
    Claim(
        "faster",
        "asynchronous is faster",
        "of the listed accuracies that at least one system reaches, the asynchronous one reaches none later and one or "
        "more earlier (not reached counts as later); undecided if neither reaches any.",
    ),
    Claim(
        "slower_with_gap",
        "a larger H is slower",
        "both systems have a lower accuracy on average over all the time (area below the curve) than at the next "
        "smaller H; the smallest H is compared with nothing.",
    ),
    Claim(
        "ahead_early",
        "asynchronous is ahead early",
        f"in the first {EARLY:.0%} of the time the asynchronous accuracy is higher on average, and also at half or "
        "more of the evaluations at which the two differ; undecided if they never differ there.",
    ),
    Claim(
        "catches_up",
        "synchronous catches up late",
        f"over the last {1 - LATE:.0%} of the time the synchronous accuracy is on average higher than the asynchronous "
        f"one, or lower by at most {100 * SIMILAR:g} points; undecided if it was never behind by more than that.",
    ),
)


@dataclass(frozen=True)
class Verdict:
    """Whether a claim held at one gap (None: undecided), and the numbers behind it."""

    gap: float
    held: bool | None
    why: str


def judge(pairs: Sequence[Pair], targets: Sequence[float]) -> dict[str, list[Verdict]]:
    """The verdicts on every claim, by its name, for each gap in rising order that it can be judged at."""
    return {
        "faster": [faster(pair, targets) for pair in pairs],
        "slower_with_gap": [slower(pair, smaller) for smaller, pair in pairwise(pairs)],
        "ahead_early": [ahead(pair) for pair in pairs],
        "catches_up": [catches_up(pair) for pair in pairs],
    }


def faster(pair: Pair, targets: Sequence[float]) -> Verdict:
    """Whether the asynchronous system reached the targets earlier."""
    end = float("inf")
    times = [(pair.asynchronous.reached_s(target), pair.synchronous.reached_s(target)) for target in targets]
    reached = [
        (end if one is None else one, end if two is None else two) for one, two in times if (one, two) != (None, None)
    ]
    if not reached:
        return Verdict(pair.gap, None, "no listed accuracy is reached")
    earlier, later = sum(one < two for one, two in reached), sum(one > two for one, two in reached)
    said = f"{earlier} of {len(reached)} reached accuracies earlier" + (f", {later} later" if later else "")
    return Verdict(pair.gap, earlier > 0 and later == 0, said)


def slower(pair: Pair, smaller: Pair) -> Verdict:
    """Whether both systems are worse than at the next smaller gap."""
    changes = [
        after.mean_over_time - before.mean_over_time
        for after, before in (
            (pair.asynchronous, smaller.asynchronous),
            (pair.synchronous, smaller.synchronous),
        )
    ]
    said = f"mean accuracy {points(changes[0])} asynchronous, {points(changes[1])} synchronous"
    return Verdict(pair.gap, max(changes) < 0, f"{said} against H = {smaller.gap:g}")


def ahead(pair: Pair) -> Verdict:
    """Whether the asynchronous system leads in the early part."""
    time_s = pair.asynchronous.time_s
    leads = pair.lead[(time_s > 0) & (time_s <= EARLY * pair.asynchronous.end_s)]
    differing = leads[leads != 0]
    if not len(differing):
        return Verdict(pair.gap, None, "the two do not differ there")
    often = int((differing > 0).sum())
    said = f"{points(float(leads.mean()))} on average, ahead at {often} of {len(differing)} evaluations"
    return Verdict(pair.gap, bool(leads.mean() > 0 and often >= len(differing) / 2), said)


def catches_up(pair: Pair) -> Verdict:
    """Whether the synchronous system is as good in the late part, after having been behind."""
    time_s, lead = pair.asynchronous.time_s, pair.lead
    last, most = late_lead(pair), int(np.argmax(lead))
    said = (
        f"{points(-last)} at the end; it was behind by at most {points(float(lead[most]), False)} ({time_s[most]:g} s)"
    )
    return Verdict(pair.gap, None if lead[most] <= SIMILAR else last <= SIMILAR, said)


def late_lead(pair: Pair) -> float:
    """By how much the asynchronous system leads in the late part, on average."""
    return float(pair.lead[pair.asynchronous.time_s >= LATE * pair.asynchronous.end_s].mean())


def points(share: float, signed: bool = True) -> str:
    """A difference of accuracies in percentage points.

    >>> points(0.0312), points(-0.2, signed=True), points(0.2, signed=False)
    ('+3.1 points', '-20.0 points', '20.0 points')
    """
    return f"{100 * share:{'+' if signed else ''}z.1f} points"


def word(held: bool | None) -> str:
    """A verdict in a word.

    >>> word(True), word(False), word(None)
    ('yes', 'no', 'undecided')
    """
    return "undecided" if held is None else "yes" if held else "no"


def overall(verdicts: Sequence[Verdict]) -> str:
    """The verdicts over all gaps: yes, no, or where it held and where not; what is undecided does not count.

    >>> overall([Verdict(5, True, ""), Verdict(10, False, ""), Verdict(30, True, "")])
    'in part: H = 5, 30'
    """
    decided = [one for one in verdicts if one.held is not None]
    held = [one for one in decided if one.held]
    if not decided:
        return word(None)
    if len(held) in (0, len(decided)):
        return word(bool(held))
    return f"in part: H = {', '.join(f'{one.gap:g}' for one in held)}"
