"""What becomes of jobs: worked out by hand, client by client."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from asyncfeel.streams import key
from asyncfeel.world.fates import fates
from asyncfeel.world.hazards import Hazards


@dataclass(frozen=True)
class Told(Hazards):
    """Hazards that are written down: (client, job) -> share of the job, and -> failed attempts."""

    crashes: dict = field(default_factory=dict)
    failures: dict = field(default_factory=dict)

    @property
    def any(self):
        return True

    def crashes_at(self, clients, jobs):
        pairs = zip(clients.tolist(), jobs.tolist(), strict=True)
        return np.array([self.crashes.get(pair, math.inf) for pair in pairs])

    def upload_fails(self, clients, jobs, attempt):
        pairs = zip(clients.tolist(), jobs.tolist(), strict=True)
        return np.array([attempt < self.failures.get(pair, 0) for pair in pairs], dtype=bool)


def lived(hazards, leaves_s=(), clients=4):
    """The fates of so many clients with jobs 0 from second 10 on: 4 s of computation, 1 s for an upload."""
    numbers = np.arange(clients)
    leaving_s = np.array([*leaves_s, *[math.inf] * (clients - len(leaves_s))])
    compute_s = np.full(clients, 4.0)
    return fates(hazards, numbers, numbers * 0, 10.0, compute_s, leaving_s, lambda who, start_s: np.ones(len(who)))


def noted(found):
    return [
        (one.kind, client, time_s, lost_s)
        for one in found.mishaps()
        for client, time_s, lost_s in zip(one.numbers.tolist(), one.time_s.tolist(), one.lost_s.tolist(), strict=True)
    ]


def sent(found):
    return [
        (one.outcome, one.clients.tolist(), one.start_s.tolist(), one.seconds.tolist())
        for one in found.spells("uplink")
    ]


def test_without_mishaps_everything_arrives():
    found = lived(Told())
    assert found.arrived.all()
    assert not noted(found)
    assert found.compute_s.tolist() == [4.0] * 4
    assert found.transfer_s.tolist() == [1.0] * 4
    assert sent(found) == [("arrived", [0, 1, 2, 3], [14.0] * 4, [1.0] * 4)]


def test_a_crash_ends_a_job_and_nothing_is_sent():
    found = lived(Told(crashes={(1, 0): 0.25}))
    assert found.arrived.tolist() == [True, False, True, True]
    assert found.compute_s.tolist() == [4.0, 1.0, 4.0, 4.0]
    assert found.transfer_s[1] == 0.0
    assert noted(found) == [("crash", 1, 11.0, 1.0)]
    assert sent(found)[0][1] == [0, 2, 3]


def test_a_failed_upload_is_repeated_at_once():
    found = lived(Told(failures={(2, 0): 2, (3, 0): 1}))
    assert found.arrived.all()
    assert found.transfer_s.tolist() == [1.0, 1.0, 3.0, 2.0]
    assert noted(found) == [
        ("upload-failed", 2, 15.0, 1.0),
        ("upload-failed", 3, 15.0, 1.0),
        ("upload-failed", 2, 16.0, 1.0),
    ]
    assert sent(found)[-1] == ("arrived", [2], [16.0], [1.0])


def test_after_the_last_attempt_an_upload_is_lost():
    found = lived(Told(failures={(0, 0): 9}, upload_attempts=2))
    assert found.arrived.tolist() == [False, True, True, True]
    assert noted(found)[-1] == ("upload-lost", 0, 16.0, 6.0)
    assert found.transfer_s[0] == 2.0


def test_whoever_leaves_before_its_upload_has_arrived_is_lost():
    """Client 0 leaves while it computes, client 1 while it uploads, client 2 at the instant of its arrival."""
    found = lived(Told(), leaves_s=(12.0, 14.5, 15.0))
    assert found.arrived.tolist() == [False, False, True, True]
    assert noted(found) == [("left", 0, 12.0, 2.0), ("left", 1, 14.5, 4.5)]
    assert found.compute_s.tolist() == [2.0, 4.0, 4.0, 4.0]
    assert found.transfer_s.tolist() == [0.0, 0.5, 1.0, 1.0]
    assert sent(found) == [("arrived", [2, 3], [14.0] * 2, [1.0] * 2), ("broken", [1], [14.0], [0.5])]


def test_the_first_of_two_mishaps_counts():
    found = lived(Told(crashes={(0, 0): 0.5, (1, 0): 0.5}), leaves_s=(11.0, 13.0))
    assert noted(found) == [("left", 0, 11.0, 1.0), ("crash", 1, 12.0, 2.0)]


def test_whoever_left_during_the_download_computes_nothing():
    found = lived(Told(), leaves_s=(9.0,))
    assert found.compute_s[0] == found.transfer_s[0] == 0.0
    assert noted(found) == [("left", 0, 10.0, 0.0)]


@pytest.mark.parametrize("odds", [0.2, 0.7])
def test_mishaps_come_with_their_odds_and_belong_to_client_and_job(odds):
    hazards = Hazards(crash=odds, upload_failure=odds, key=lambda *names: key(1, "faults", *names))
    clients, jobs = np.arange(4000), np.full(4000, 3)
    share = hazards.crashes_at(clients, jobs)
    crashed = np.isfinite(share)
    assert crashed.mean() == pytest.approx(odds, abs=0.03)
    assert share[crashed].mean() == pytest.approx(0.5, abs=0.03)
    failed = [hazards.upload_fails(clients, jobs, attempt) for attempt in (0, 1)]
    assert failed[0].mean() == pytest.approx(odds, abs=0.03)
    assert abs(np.corrcoef(failed[0], failed[1])[0, 1]) < 0.05
    assert hazards.upload_fails(clients[70:72], jobs[:2], 0).tolist() == failed[0][70:72].tolist()
    assert (hazards.crashes_at(clients, jobs + 1) != share).any()
