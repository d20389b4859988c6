"""Mistakes that public code has made, each with the test that would have found it (docs/mistakes.md)."""

import ast
import math
import random
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from asyncfeel import InputError, Scenario, catalogue, run
from asyncfeel.algorithms.async_sd_feel import AsyncSdFeel
from asyncfeel.algorithms.fedasync import Fedasync
from asyncfeel.algorithms.fedbuff import Fedbuff
from asyncfeel.algorithms.fedsa import Fedsa
from asyncfeel.algorithms.safa import Safa
from asyncfeel.plugins import Plugin
from asyncfeel.streams import stream
from asyncfeel.theory import staleness
from asyncfeel.world import topology

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "mistakes.md"
ALGORITHMS = list(catalogue.names("algorithm"))
SIZES = {"work.flops_per_step": 1e7, "network.model_bits": 1e6}
AT_ONCE = {"uplink_bps": math.inf, "exchange_bps": math.inf}
FAST_AND_SLOW = [(0, 10, 1.0), (0, 10, 0.4)]
"""Two clients of one server: a step takes one of them 1 s, the other 2.5 s."""


def merges(made):
    """Every merge of a single server, in order: iteration, client, staleness, weight."""
    return [(one.iteration, m.client, m.staleness, m.weight) for one in made.diary.completions for m in one.merged]


def test_plato_alpha_that_decays_for_good(world):
    """Staleness makes one merge count less; the next fresh one counts in full again."""
    made = world([], FAST_AND_SLOW, train=lambda job: 1.0, iterations=60, **AT_ONCE).run(Fedasync(alpha=0.6))
    done = merges(made)
    assert [weight for *_, weight in done] == pytest.approx([0.6 * (1 + d) ** -0.5 for _, _, d, _ in done])
    assert {d for _, _, d, _ in done} >= {0, 1, 2}
    last_fresh = max(iteration for iteration, _, d, _ in done if d == 0)
    assert last_fresh > 50
    gaps = [1 - model for (model,) in (made.diary.before[last_fresh], made.diary.after[last_fresh])]
    assert gaps[1] == pytest.approx(0.4 * gaps[0])


@pytest.mark.parametrize("a", [0.1, 1.0, 10.0])
def test_flgo_hinge_without_the_plus_one(a):
    """Above b the hinge is 1 / (a (d - b) + 1): it starts at 1, and never exceeds it."""
    for hinge in (staleness.hinge(a=a, b=4.0), Fedasync(s="hinge", a=a, b=4.0).discount()):
        assert [hinge(d) for d in range(8)] == pytest.approx([1.0] * 5 + [1 / (a * over + 1) for over in (1, 2, 3)])
        assert max(map(hinge, range(100))) == 1.0


def test_flgo_fedbuff_without_a_staleness_factor(world):
    """Every job changes its model by 1, so that a step of the server is the sum of the factors."""
    made = world([], FAST_AND_SLOW, train=lambda job: job.model + 1.0, iterations=5, **AT_ONCE).run(Fedbuff(K=1))
    steps = [after - before for (before,), (after,) in zip(made.diary.before, made.diary.after, strict=True)]
    # The fast client arrives after 1, 2, 3, 4 s; the slow one after 2.5 s, with the model of second 0.
    assert steps == pytest.approx([1, 1, 1 / math.sqrt(3), 1 / math.sqrt(2), 1])


@pytest.mark.parametrize(
    ("model", "parameters"), [("logistic", 64 * 10 + 10), ("mlp", 64 * 64 + 64 + 64 * 10 + 10)], ids=["logistic", "mlp"]
)
def test_flgo_package_size_is_that_of_a_python_object(tmp_path, model, parameters):
    """What travels is 32 bits for each parameter, whatever Python needs to hold them."""
    rates = {"network.uplink_bps": 1e6, "network.exchange_bps": 10e6}
    scenario = Scenario.load(model=model, clients=6, servers=3, iterations=3, set=rates)
    plan = run(scenario, tmp_path / "plan", train=False)
    rows, bits = plan.iterations, 32 * parameters
    assert rows["time_s"] - rows["started_s"] - rows["deadline_s"] == pytest.approx([bits / 1e6 + bits / 10e6] * 3)
    assert plan.summary["traffic"]["uplink_bytes"] % (4 * parameters) == 0
    assert plan.summary["traffic"]["uplink_bytes"] >= 3 * 2 * 4 * parameters


def test_nvflare_factor_of_one_over_one_plus_the_root_and_one_version_too_many(world):
    """A fresh update counts in full, one that is d versions old 1 / sqrt(1 + d)."""
    made = world([], FAST_AND_SLOW, iterations=5, **AT_ONCE).run(Fedbuff(K=1))
    assert [(client, d) for _, client, d, _ in merges(made)] == [(0, 0), (0, 0), (1, 2), (0, 1), (0, 0)]
    assert [weight for *_, weight in merges(made)] == pytest.approx([1, 1, 3**-0.5, 2**-0.5, 1])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_fedml_whole_models_added_where_changes_belong(world, ring, name):
    """Clients that learn nothing leave every server's model where it was, in every system."""
    algorithm = catalogue.find("algorithm", name)()
    clients = [(d, 10 + 5 * d + i, 1.0 + d + i) for d in range(3) for i in range(2)]
    layout = getattr(algorithm, "layout", None)
    made = world(ring(3), clients, iterations=12, initial=5.0, layout=layout).run(algorithm)
    assert len(made.diary.completions) == 12
    assert [model for models in made.diary.after for model in models] == pytest.approx(
        [5.0] * sum(map(len, made.diary.after))
    )


def test_fedscale_ties_decided_by_comparing_strings(world, ring):
    """What happens at one instant happens in the order in which it was scheduled."""
    equal = world(ring(12), [(d, 10, 1.0) for d in range(12)], iterations=24).run(AsyncSdFeel())
    assert [one.triggers[0].server for one in equal.diary.completions] == [*range(12), *range(12)]
    alone = world([], [(0, 10, 1.0)] * 12, iterations=24).run(Fedasync())
    assert [client for _, client, _, _ in merges(alone)] == [*range(12), *range(12)]

    # Server 0 needs 0.5 s for an iteration, server 1 needs 1.5 s and has set out earlier for second 1.5.
    rates = {"uplink_bps": 8.0, "exchange_bps": 8.0, "flops_per_step": 5.0}
    unequal = world([(0, 1)], [(0, 10, 20.0), (1, 10, 4.0)], iterations=4, **rates).run(AsyncSdFeel())
    order = [(one.time_s, one.triggers[0].server) for one in unequal.diary.completions]
    assert order == [(0.5, 0), (1.0, 0), (1.5, 1), (1.5, 0)]


@pytest.mark.parametrize(
    "algorithm", [Fedasync(), Fedbuff(K=2), Fedsa(M=2), Safa(fraction=1.0, T_lim_s=1.5)], ids=lambda a: type(a).__name__
)
def test_appfl_staleness_counted_from_the_last_upload(world, algorithm):
    """It counts from the version that the client downloaded, which its job's own model tells."""
    clients = [(0, 10, flops) for flops in (1.0, 0.9, 0.4)]
    made = world([], clients, train=lambda job: job.model / 2 + job.client + 1.0, iterations=15).run(algorithm)
    versions = [0.0, *(model for (model,) in made.diary.after)]
    assert len(set(versions)) == len(versions)
    jobs = {client: iter([job for job in made.executor.jobs if job.client == client]) for client in range(3)}
    found = [(iteration - versions.index(next(jobs[client]).model), d) for iteration, client, d, _ in merges(made)]
    assert [d for _, d in found] == [expected for expected, _ in found]
    assert max(d for _, d in found) > 0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_appfl_whole_runs_with_zero_seconds_of_compute(tmp_path, name):
    """With channels that cost next to nothing, twice the work per step is twice the time."""
    channels = {f"network.{kind}_bps": 1e18 for kind in ("uplink", "exchange", "cloud")}
    ends = []
    for factor in (1, 2):
        work = {"work.flops_per_step": factor * 1e7, "network.model_bits": 1e3}
        scenario = Scenario.load(algorithm=name, clients=9, servers=3, iterations=12, set=channels | work)
        plan = run(scenario, tmp_path / str(factor), train=False)
        rows = plan.iterations
        assert (rows["deadline_s"] > 0).all()
        assert (rows["time_s"] - rows["started_s"] >= rows["deadline_s"] * (1 - 1e-12)).all()
        ends.append(plan.summary["time_s"])
    assert ends[1] == pytest.approx(2 * ends[0])
    with pytest.raises(InputError, match=r"work\.flops_per_step must be greater than 0"):
        Scenario.load(set={"work.flops_per_step": 0})


def test_fluke_ring_that_goes_one_way(world, ring):
    """Every link carries models both ways: a completion changes the servers on both sides."""
    drawn, _ = topology.draw(Plugin("ring"), 6, stream(1, "topology"))
    assert drawn.neighbours == ((1, 5), (0, 2), (1, 3), (2, 4), (3, 5), (0, 4))
    made = world(ring(6), [(d, 10, 2.0 if d == 3 else 1.0) for d in range(6)], train=lambda job: 1.0, iterations=1)
    made.run(AsyncSdFeel())
    assert [server for server, model in enumerate(made.models) if model != 0] == [2, 3, 4]
    with pytest.raises(InputError, match="directed"):
        topology.check("mine", nx.cycle_graph(6, create_using=nx.DiGraph))


@pytest.mark.parametrize("kind", ["random", "random-regular", "small-world"])
def test_fluke_random_graph_without_a_seed(tmp_path, kind):
    """A seed is a graph, whatever anybody did with the global generators; another seed is another."""
    graphs = {}
    for number, seed in [(1, 1), (2, 1), (3, 2)]:
        random.seed(number)
        np.random.seed(number)
        scenario = Scenario.load(topology=kind, servers=12, clients=12, iterations=1, seed=seed, set=SIZES)
        plan = run(scenario, tmp_path / str(number), train=False)
        graphs[number] = (plan.folder / "topology.json").read_bytes()
    assert graphs[1] == graphs[2] != graphs[3]


def test_hierfl_results_that_others_cannot_reproduce(tmp_path):
    """A run folder is enough to repeat the run to the last byte, elsewhere in another state and with other workers."""
    import torch

    options = {"training.learning_rate": 0.05, "evaluation.every_iterations": 2}
    scenario = Scenario.load(
        algorithm="hierfavg", model="logistic", clients=6, servers=3, iterations=8, executor="serial", set=options
    )
    first = run(scenario, tmp_path / "first")
    random.seed(9)
    np.random.seed(9)
    torch.manual_seed(9)
    again = Scenario.load(config=first.folder / "config.toml", executor="threads", workers=2)
    second = run(again, tmp_path / "second")
    assert first.summary["digests"] == second.summary["digests"]
    results = sorted(path.name for path in first.folder.iterdir() if path.suffix in (".csv", ".safetensors"))
    assert {"metrics.csv", "model.safetensors", "mixing.csv"} <= set(results)
    for name in results:
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()
    assert len(set(first.metrics["test_loss"])) > 2


def defined(path):
    """The names of the tests in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_guard_on_the_page_is_a_test():
    guards = re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8"))
    assert set(guards) <= {name for path in TESTS.rglob("test_*.py") for name in defined(path)}
    assert len(guards) == len(set(guards)) >= 12


def test_every_mistake_tested_here_is_on_the_page():
    projects = ("plato", "flgo", "nvflare", "fedml", "fedscale", "appfl", "fluke", "hierfl")
    here = {name for name in defined(Path(__file__)) if name.removeprefix("test_").split("_")[0] in projects}
    assert here <= set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    assert {name.split("_")[1] for name in here} == set(projects)


def test_every_entry_says_what_why_and_which_test():
    entries = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(entries) >= 12
    for entry in entries:
        assert [entry.count(label) for label in ("**Elsewhere.**", "**Why it matters.**", "**Guard.**")] == [1, 1, 1], (
            entry.partition("\n")[0]
        )
