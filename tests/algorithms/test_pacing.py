"""Deadlines beyond the paper's rule: balanced over clusters, and adaptive."""

import pytest

from asyncfeel.algorithms.async_sd_feel import AsyncSdFeel
from asyncfeel.algorithms.sync_sd_feel import SyncSdFeel
from asyncfeel.errors import InputError
from asyncfeel.jobs import Probe, Ready, Update
from asyncfeel.streams import stream
from asyncfeel.world import speeds

FLOPS = speeds.uniform(30, stream(4, "speeds"), heterogeneity=30.0, mean_flops=1.0)
CLIENTS = [(client % 6, 10 + 7 * client % 40, float(FLOPS[client])) for client in range(30)]


class Probing:
    """Clients that minimise curvature/2 (w - c_i)^2 and report what they find on the way."""

    def __init__(self, eta, curvature, spread):
        self.eta, self.curvature, self.spread = eta, curvature, spread

    def submit(self, job):
        centre, a = self.spread * (job.client // 6 - 2), self.curvature
        done = centre + (1 - self.eta * a) ** job.steps * (job.model - centre)
        probe = None
        if job.probe:
            losses = [a / 2 * (w - centre) ** 2 for w in (job.model, done)]
            probe = Probe(*losses, a * (job.model - centre), a * (done - centre))
        return Ready(Update(done, None, probe))

    def close(self):
        pass


def adaptive_world(world, ring, spread=0.1, iterations=None, **options):
    executor = Probing(0.01, 1.0, spread)
    made = world(
        ring(6), CLIENTS, executor=executor, local_steps=5, initial=3.0, uplink_bps=0.05, iterations=iterations
    )
    for name, value in ({"norm": abs, "learning_rate": 0.01, "budget_s": 5000.0} | options).items():
        setattr(made.federation, name, value)
    return made


def paces(federation, algorithm):
    """f_d taubar_d of every cluster, up to a common factor."""
    lengths, steps = algorithm._paces(federation)
    return [tau / length for tau, length in zip(steps, lengths, strict=True)]


def test_balanced_deadlines_make_every_cluster_pull_alike(world, ring):
    federation = world(ring(6), CLIENTS, local_steps=100, uplink_bps=0.02).federation
    before, after = (paces(federation, AsyncSdFeel(deadline=rule)) for rule in ("min-steps", "balanced"))
    assert max(after) / min(after) < 1.02 < max(before) / min(before)
    assert AsyncSdFeel(deadline="balanced").objective(federation) == pytest.approx([1 / 6] * 6, rel=0.02)


def test_balanced_deadlines_are_what_the_servers_use(world, ring):
    made = world(ring(6), CLIENTS, local_steps=20, iterations=40).run(AsyncSdFeel(deadline="balanced"))
    used = {trigger.server: trigger.deadline_s for c in made.diary.completions for trigger in c.triggers}
    expected = AsyncSdFeel(deadline="balanced")._deadlines(made.federation)
    assert used == {server: expected[server] for server in used}


@pytest.mark.parametrize("algorithm", [AsyncSdFeel(deadline="adaptive"), SyncSdFeel(deadline="adaptive")])
def test_adaptive_steps_start_as_given_and_grow_where_aggregation_is_dear(world, ring, algorithm):
    made = adaptive_world(world, ring, iterations=30).run(algorithm)
    least = [min(trigger.steps) for c in made.diary.completions for trigger in c.triggers]
    assert least[0] == 5
    assert max(least) > 20
    assert all(1 <= steps <= 100 for steps in least)


def test_adaptive_steps_stay_few_where_clients_disagree(world, ring):
    alike = adaptive_world(world, ring, spread=0.01, iterations=60).run(SyncSdFeel(deadline="adaptive"))
    unlike = adaptive_world(world, ring, spread=300.0, iterations=60).run(SyncSdFeel(deadline="adaptive"))
    last = [made.diary.completions[-1].triggers[0].steps[0] for made in (alike, unlike)]
    assert last[1] < last[0]


def test_adaptive_deadline_is_that_of_the_slowest_client(world, ring):
    made = adaptive_world(world, ring, iterations=30).run(AsyncSdFeel(deadline="adaptive"))
    for completion in made.diary.completions:
        (trigger,) = completion.triggers
        slowest = min(h for server, _, h in CLIENTS if server == trigger.server)
        assert trigger.deadline_s == pytest.approx(min(trigger.steps) / slowest)


@pytest.mark.parametrize(
    ("options", "message"), [({"norm": None}, "needs training"), ({"budget_s": float("inf")}, "give --until")]
)
@pytest.mark.parametrize("algorithm", [AsyncSdFeel(deadline="adaptive"), SyncSdFeel(deadline="adaptive")])
def test_adaptive_needs_training_and_a_budget(world, ring, algorithm, options, message):
    with pytest.raises(InputError, match=message):
        adaptive_world(world, ring, **options).run(algorithm)


def test_adaptive_and_rate_correction_do_not_go_together(world, ring):
    with pytest.raises(InputError, match="known beforehand"):
        adaptive_world(world, ring).run(AsyncSdFeel(deadline="adaptive", rate_correction=True))
