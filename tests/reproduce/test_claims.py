"""The four claims on hand-made curves whose verdicts are known."""

import numpy as np
import pytest

from asyncfeel.reproduce import claims, figures, tables
from asyncfeel.reproduce.claims import Verdict
from asyncfeel.reproduce.pairs import Curve, Pair

STEP_S = 10.0


def curve(*seeds):
    """A curve that is tested every ten seconds: a list of accuracies for each seed."""
    values = np.array(seeds, dtype=float)
    return Curve(np.arange(values.shape[1]) * STEP_S, values, 1 - values)


def pair(asynchronous, synchronous, gap=5.0):
    return Pair(gap, curve(asynchronous), curve(synchronous))


SLOW = [0.1, 0.1, 0.2, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
QUICK = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.6, 0.7, 0.7]


def test_a_target_is_reached_by_the_mean_over_the_seeds():
    found = curve([0.1, 0.5, 0.2, 0.9], [0.1, 0.1, 0.6, 0.7])
    assert found.accuracy.tolist() == pytest.approx([0.1, 0.3, 0.4, 0.8])
    assert found.reached_s(0.3) == 10.0
    assert found.reached_s(0.35) == 20.0
    assert found.reached_s(0.81) is None
    assert found.mean_over_time == pytest.approx((0.2 + 0.35 + 0.6) / 3)


@pytest.mark.parametrize(
    ("asynchronous", "synchronous", "targets", "held", "why"),
    [
        (QUICK, SLOW, [0.2, 0.5], True, "2 of 2 reached accuracies earlier"),
        (SLOW, QUICK, [0.2, 0.5], False, "0 of 2 reached accuracies earlier, 2 later"),
        (QUICK, QUICK, [0.2, 0.5], False, "0 of 2 reached accuracies earlier"),
        (QUICK, SLOW, [0.1, 0.2], True, "1 of 2 reached accuracies earlier"),
        (QUICK, SLOW, [0.8], None, "no listed accuracy is reached"),
        ([0.1, 0.5, 0.8], [0.1, 0.1, 0.4], [0.5, 0.9], True, "1 of 1 reached accuracies earlier"),
        ([0.1, 0.5, 0.5], [0.1, 0.1, 0.6], [0.5, 0.6], False, "1 of 2 reached accuracies earlier, 1 later"),
    ],
)
def test_faster(asynchronous, synchronous, targets, held, why):
    assert claims.faster(pair(asynchronous, synchronous), targets) == Verdict(5.0, held, why)


LOWER = [value - 0.05 for value in SLOW]


@pytest.mark.parametrize(
    ("asynchronous", "synchronous", "held"),
    [(SLOW, LOWER, True), (SLOW, SLOW, False), (QUICK, LOWER, False), (LOWER, QUICK, False)],
)
def test_slower_with_the_gap(asynchronous, synchronous, held):
    found = claims.slower(pair(asynchronous, synchronous, 10.0), pair(QUICK, SLOW))
    assert (found.gap, found.held) == (10.0, held)
    assert "against H = 5" in found.why


def test_slower_names_the_change_of_both():
    found = claims.slower(pair([0.2, 0.2], [0.1, 0.3], 30.0), pair([0.3, 0.3], [0.1, 0.2], 10.0))
    assert found == Verdict(
        30.0, False, "mean accuracy -10.0 points asynchronous, +5.0 points synchronous against H = 10"
    )


@pytest.mark.parametrize(
    ("asynchronous", "synchronous", "held", "why"),
    [
        (QUICK, SLOW, True, "+10.0 points on average, ahead at 2 of 2 evaluations"),
        (SLOW, QUICK, False, "-10.0 points on average, ahead at 0 of 2 evaluations"),
        ([0.1] * 9, [0.1] * 3 + [0.9] * 6, None, "the two do not differ there"),
        ([0.1, 0.4, 0.2] + [0.2] * 6, [0.1, 0.1, 0.3] + [0.3] * 6, True, "+10.0 points on average, ahead at 1 of 2"),
        ([0.1, 0.2, 0.2] + [0.2] * 6, [0.1, 0.1, 0.5] + [0.5] * 6, False, "-10.0 points on average, ahead at 1 of 2"),
    ],
)
def test_ahead_early(asynchronous, synchronous, held, why):
    found = claims.ahead(pair(asynchronous, synchronous))
    assert found.held is held
    assert found.why.startswith(why)


def test_a_single_lucky_evaluation_is_not_ahead():
    early = [0.1, 0.9, 0.1, 0.1]
    found = claims.ahead(pair([*early, *[0.1] * 9], [0.1, 0.2, 0.2, 0.2, *[0.2] * 9]))
    assert found == Verdict(5.0, False, "+16.7 points on average, ahead at 1 of 3 evaluations")


@pytest.mark.parametrize(
    ("last", "held"), [(0.70, True), (0.69, True), (0.67, False), (0.80, True)], ids=lambda value: str(value)
)
def test_catches_up_late(last, held):
    found = claims.catches_up(pair(QUICK, [*SLOW[:-1], last]))
    assert found.held is held
    assert found.why.startswith(f"{100 * (last - 0.7):+.1f} points at the end; it was behind by at most 20.0 points (")


def test_who_was_never_behind_has_nothing_to_catch_up():
    assert claims.catches_up(pair(SLOW, QUICK)).held is None
    assert claims.catches_up(pair(SLOW, [value - 0.01 for value in SLOW])).held is None


def test_late_is_an_average_over_the_last_tenth():
    asynchronous, synchronous = [0.1, *[0.5] * 20], [0.1, *[0.4] * 17, 0.47, 0.48, 0.50]
    assert claims.late_lead(pair(asynchronous, synchronous)) == pytest.approx(0.05 / 3)


def test_verdicts_over_all_gaps():
    yes, no, open_ = Verdict(5, True, ""), Verdict(10, False, ""), Verdict(30, None, "")
    assert claims.overall([yes, yes, open_]) == "yes"
    assert claims.overall([no, open_]) == "no"
    assert claims.overall([yes, no, open_]) == "in part: H = 5"
    assert claims.overall([open_]) == claims.overall([]) == "undecided"


def test_all_claims_are_judged_at_every_gap_and_stated_with_rules():
    both = [pair(QUICK, SLOW), pair(SLOW, LOWER, 10.0)]
    verdicts = claims.judge(both, [0.5])
    assert [claim.name for claim in claims.CLAIMS] == list(verdicts)
    assert all(claim.rule.endswith(".") for claim in claims.CLAIMS)
    assert [len(found) for found in verdicts.values()] == [2, 1, 2, 2]
    assert [found[-1].held for found in verdicts.values()] == [True, True, True, False]


@pytest.mark.parametrize(
    ("asynchronous", "synchronous", "target", "said"),
    [
        (QUICK, SLOW, 0.5, "1.50"),
        (QUICK, SLOW, 0.9, "None"),
        ([0.1, 0.5, 0.5], [0.1, 0.2, 0.3], 0.5, "> 2.00"),
        ([0.1, 0.2, 0.3], [0.1, 0.5, 0.5], 0.5, "< 0.50"),
        (QUICK, SLOW, 0.1, "None"),
    ],
)
def test_ratios_say_when_they_are_bounds(asynchronous, synchronous, target, said):
    assert str(tables.ratio(pair(asynchronous, synchronous), target)) == said


def test_rows_have_times_verdicts_and_numbers():
    both = [pair(QUICK, SLOW), pair(SLOW, LOWER, 30.0)]
    first, second = tables.results(both, [0.5, 0.9], claims.judge(both, [0.5, 0.9]))
    assert (first["heterogeneity"], second["heterogeneity"]) == ("5", "30")
    assert (first["async_time_to_0.5_s"], first["sync_time_to_0.5_s"], first["ratio_0.5"]) == (40.0, 60.0, 1.5)
    assert (first["async_time_to_0.9_s"], first["ratio_0.9"], first["slower_with_gap"]) == (None, None, None)
    assert (second["faster"], second["slower_with_gap"], second["catches_up"]) == ("yes", "yes", "no")
    assert first["largest_lead"] == pytest.approx(0.2)
    assert first["largest_lead_s"] == 30.0


def test_the_figure_has_a_colour_for_each_gap_and_dashes_for_synchronous():
    both = [Pair(gap, curve(QUICK, SLOW), curve(SLOW, SLOW)) for gap in (5.0, 10.0)]
    loss, accuracy = figures.fig2(both, claims.judge(both, [0.5])).views[0].charts
    assert [line.name for line in accuracy.lines] == ["Async., H=5", "Sync., H=5", "Async., H=10", "Sync., H=10"]
    assert [line.look for line in loss.lines] == [0, 8, 1, 9]
    assert accuracy.lines[0].y == pytest.approx(np.mean([QUICK, SLOW], axis=0).tolist())
    assert (accuracy.lines[0].low, accuracy.lines[0].high) == (SLOW, QUICK)
