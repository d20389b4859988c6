"""Wrong input of every kind: one line that helps, exit code 2, and nothing is created."""

import dataclasses
import inspect
import json
import shlex
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from asyncfeel import InputError, Scenario, catalogue, run
from asyncfeel.cli import app
from asyncfeel.scenario.sections import Stop
from asyncfeel.world import maps

PLAN = "plan --iterations 5 --set work.flops_per_step=1e6 --set network.model_bits=1e5 "
RUN = "run --iterations 1 --clients 6 --servers 3 --executor serial --device cpu "


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, content):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def listing():
    return sorted(str(path) for path in Path().rglob("*") if "__pycache__" not in path.parts)


def refused(line, *fragments):
    """The message with which the command ends; it must be one line with all the fragments."""
    before = listing()
    result = CliRunner().invoke(app, shlex.split(line))
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == 2, (result.exit_code, result.stderr)
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""
    for fragment in fragments:
        assert fragment in result.stderr
    assert listing() == before
    return result.stderr


FLAGS = [
    ("--algorithm nope", "algorithm 'nope' is unknown: there are", "async-sd-feel, "),
    ("--topology nope", "topology 'nope' is unknown: there are complete, grid, line"),
    ("--topology Ring", "topology 'Ring' is unknown"),
    ("--topology random_regular", "random-regular"),
    ("--psi nope", "psi 'nope' is unknown: there are bound, constant"),
    ("--psi ''", "psi '' is unknown"),
    ("--dataset nope", "dataset 'nope' is unknown: there are cifar10, digits"),
    ("--model nope", "model 'nope' is unknown: there are"),
    ("--executor nope", "executor 'nope' is unknown: there are auto, batched, processes, ray, serial, stub, threads"),
    ("--executor nope:nope", "no module 'nope'"),
    ("--device nope", "device 'nope' is unknown: there are auto, cpu"),
    ("--preset nope", "preset 'nope' is unknown: there are"),
    ("--mixing nope", "mixing must be 'paper' or 'weighted', not 'nope'"),
    ("--mixing metropolis", "mixing must be 'paper' or 'weighted'"),
    ("--algorithm sync-sd-feel --mixing paper", "mixing must be 'optimal' or 'metropolis', not 'paper'"),
    ("--servers 0", "federation.servers must be at least 1, not 0"),
    ("--servers -1", "federation.servers must be at least 1, not -1"),
    ("--servers 31", "30 clients cannot serve 31 servers"),
    ("--clients 0", "federation.clients must be at least 1"),
    ("--clients 5", "5 clients cannot serve 6 servers: every server needs at least one client"),
    ("--clients 13 --topology nsfnet", "13 clients cannot serve 14 servers"),
    (
        "--clients 100000 --set split.kind=dirichlet",
        "1438 training samples cannot give 10 to each of 100000 clients: use at most 143",
        "or the split 'bootstrap'",
    ),
    ("--heterogeneity 0.5", "heterogeneity must be at least 1"),
    ("--heterogeneity -2", "heterogeneity must be at least 1"),
    ("--heterogeneity nan", "speeds.heterogeneity must be finite"),
    ("--heterogeneity inf", "speeds.heterogeneity must be finite"),
    ("--heterogeneity 1e308", "heterogeneity"),
    ("--until 0", "until_s must be greater than 0"),
    ("--until -3", "until_s"),
    ("--until nan", "until_s"),
    ("--until inf", "until_s"),
    ("--until soon", "until_s: 'soon' is not a quantity", "'2h'"),
    ("--until 3x", "until_s: '3x' is not a quantity"),
    ("--until ''", "until_s"),
    ("--until 1e999", "until_s"),
    ("--iterations 0", "stop.iterations must be at least 1"),
    ("--iterations -1", "stop.iterations must be at least 1"),
    ("--seed -1", "seed must be at least 0"),
    ("--workers -1", "execution.workers must be at least 0"),
    ("--dataset nope.npz", "'nope.npz' does not exist"),
    ("--topology nope.json", "topology 'nope.json': there is no such file"),
    ("--topology nope.graphml", "topology 'nope.graphml': there is no such file"),
    ("--topology nsfnet --servers 3", "has 14 servers, not 3: leave the number out"),
    ("--topology ../topologies/ring", "topology '../topologies/ring' is unknown"),
    ("--config nope.toml", "'nope.toml' cannot be read: No such file"),
    ("--config .", "'.' cannot be read"),
    ("--out /dev/null", "cannot be made"),
    ("--out /dev/null/x", "cannot be made"),
    ("--set psi", "--set takes key=value", "not 'psi'"),
    ("--set =3", "--set takes key=value"),
    ("--set ''", "--set takes key=value"),
]


@pytest.mark.parametrize(("flags", "fragments"), [(line, rest) for line, *rest in FLAGS])
def test_flags(flags, fragments):
    refused(PLAN + flags, *fragments)


KEYS = [
    ("seeed=3", "key 'seeed' is unknown: did you mean 'seed'? there are algorithm, availability"),
    ("zzz=3", "key 'zzz' is unknown: there are algorithm"),
    ("a.b.c=3", "key 'a' is unknown"),
    ("seed=1.5", "seed must be a whole number, not 1.5"),
    ("seed=true", "seed must be a whole number"),
    ("seed=x", "seed must be a whole number, not 'x'"),
    ("seed=[1]", "seed must be a whole number, not [1]"),
    ("seed.a=3", "seed must be a whole number"),
    ("data_dir=3", "data_dir must be a text, not 3"),
    ("federation=3", "[federation] must be a section"),
    ("federation.client=3", "[federation]: key 'client' is unknown: did you mean 'clients'?"),
    ("federation.clients=3.0", "federation.clients must be a whole number, not 3.0"),
    ("federation.clients=true", "federation.clients must be a whole number"),
    ("federation.clients=many", "federation.clients must be a whole number, not 'many'"),
    ("federation.assignment=nope", "'random' or 'sorted' or 'file', not 'nope'"),
    ("federation.assignment=file", "needs speeds of kind 'file'"),
    ("work.flops_per_step=0", "work.flops_per_step must be greater than 0"),
    ("work.flops_per_step=-1", "work.flops_per_step must be greater than 0"),
    ("work.flops_per_step=nope", "a number or 'model' or 'paper' or 'literal' or 'physical', not 'nope'"),
    ("work.flops_per_step=true", "work.flops_per_step must be a number or"),
    ("work.flops=1", "[work]: key 'flops' is unknown", "flops_per_step"),
    ("network.model_bits=literal", "a number or 'model' or 'paper', not 'literal'"),
    ("network.model_bits='5 MB'", "network.model_bits"),
    ("network.uplink=3", "did you mean 'uplink_bps'?"),
    ("network.uplink_bps=0", "network.uplink_bps must be greater than 0"),
    ("network.uplink_bps=nan", "network.uplink_bps must be finite"),
    ("network.uplink_bps=1e-308", "network.uplink_bps"),
    ("network.uplink_bps='5 parsec'", "uplink_bps: '5 parsec' is not a quantity", "'5Mbps'"),
    ("network.exchange_bps=inf", "network.exchange_bps must be finite"),
    ("network.downlink_bps=-1", "network.downlink_bps must be greater than 0"),
    ("network.cloud_bps=0", "network.cloud_bps must be greater than 0"),
    ("training.batch=0", "training.batch must be at least 1"),
    ("training.batch=1.5", "training.batch must be a whole number"),
    ("training.batch=1000", "cannot give 1000 to each of 30 clients"),
    ("training.learning_rate=0", "training.learning_rate must be greater than 0"),
    ("training.learning_rate=fast", "training.learning_rate must be a number"),
    ("training.momentum=1", "momentum", "1"),
    ("training.momentum=1.5", "training.momentum must be"),
    ("training.weight_decay=-1", "training.weight_decay must be at least 0"),
    ("training.augment=1", "training.augment must be true or false"),
    ("training.local_steps=0", "training.local_steps must be at least 1"),
    ("stop.until=3", "did you mean 'until_s'?"),
    ("stop.until_s='5 km'", "until_s: '5 km' is not a quantity"),
    ("stop.patience=0", "stop.patience must be at least 1"),
    ("stop.tolerance=-1", "stop.tolerance must be at least 0"),
    ("consensus.rounds=-1", "consensus.rounds must be at least 0"),
    ("consensus.rounds=some", "consensus.rounds must be a whole number or 'auto', not 'some'"),
    ("consensus.tolerance=0", "consensus.tolerance must be greater than 0"),
    ("consensus.tolerance=2", "consensus.tolerance must be at most 1"),
    ("evaluation.every_s=0", "evaluation.every_s must be greater than 0"),
    ("evaluation.every_iterations=0", "evaluation.every_iterations must be at least 1"),
    ("evaluation.train_sample=-1", "evaluation.train_sample must be at least 0"),
    ("execution.executor=3", "execution.executor must be a text"),
    ("execution.wokers=3", "did you mean 'workers'?"),
    ("psi=3", "psi must be a name, or a section with a kind, not 3"),
    ("psi.kind=3", "psi must be a name, or a section with a kind"),
    ("psi.a=0.5", "psi 'inverse' has no option 'a': there are none"),
    ("algorithm.deadline=nope", "deadline must be 'min-steps' or 'fixed'", "not 'nope'"),
    ("algorithm.deadline=fixed", "needs algorithm.deadline_s"),
    ("algorithm.deadline_s=3", "needs algorithm.deadline = 'fixed'"),
    ("algorithm.min_steps=0", "min_steps must be at least 1"),
    ("algorithm.min_steps=2.5", "min_steps must be a whole number"),
    ("algorithm.minsteps=2", "has no option 'minsteps': there are deadline, min_steps"),
    ("algorithm.rate_correction=1", "rate_correction must be true or false"),
    ("speeds.mean_flops=0", "mean_flops must be positive"),
    ("speeds.mean_flops='2 Mbps'", "mean_flops: '2 Mbps' is not a quantity"),
    ("speeds.kind=nope", "speeds 'nope' is unknown: there are exponential, file"),
    ("speeds.kind=file", "speeds 'file' needs the option 'path'"),
    ("drift.kind=nope", "drift 'nope' is unknown: there are daily, jitter, none"),
    ("fading.kind=nope", "fading 'nope' is unknown: there are daily, jitter, none"),
    ("split.kind=nope", "split 'nope' is unknown: there are"),
    ("split.kind=natural", "needs data with owners", "choose dirichlet, iid or shards"),
    ("split.alpha=0", "alpha must be a number above 0"),
    ("split.alpha=1e-6", "fewer than 10 samples: use a larger alpha, fewer clients or a smaller batch"),
    ("model.kind=nope", "model 'nope' is unknown: there are"),
    ("dataset.foo=1", "dataset 'digits' has no option 'foo'"),
    ("topology.p=1", "topology 'ring' has no option 'p': there are none"),
]


@pytest.mark.parametrize(("assignment", "fragments"), [(item, rest) for item, *rest in KEYS])
def test_dotted_keys(assignment, fragments):
    refused(f"{PLAN} --set {shlex.quote(assignment)}", *fragments)


TOGETHER = [
    ("psi.kind=hinge psi.aa=0.5", "psi 'hinge' has no option 'aa': there are a, b"),
    ("psi.kind=hinge psi.a=text", "psi 'hinge': a must be a number, not 'text'"),
    ("psi.kind=hinge psi.a=-1", "psi", "a must be at least 0, not -1"),
    ("psi.kind=hinge psi.a=nan", "psi.a must be finite"),
    ("psi.kind=hinge psi.a=[1,2]", "a must be a number, not [1, 2]"),
    ("psi.kind=hinge psi.a={x=1}", "psi.a must be a number"),
    ("psi.kind=hinge psi.a.b=1", "psi.a must be a number"),
    ("psi.kind=threshold psi.v=2", "v must be from 0 to 1"),
    ("psi.kind=bound psi.b=0", "b must be greater than 0"),
    ("psi.kind=sigmoid psi.a=0.5", "a must be at least 1"),
    ("algorithm.deadline=fixed algorithm.deadline_s=1e-9", "is too short: the slowest client needs 0.0055"),
    ("algorithm.deadline=fixed algorithm.deadline_s=-1", "deadline_s"),
    ("algorithm.kind=sync-sd-feel algorithm.tau1=0", "tau1 must be at least 1"),
    ("algorithm.kind=sync-sd-feel algorithm.tau2=0", "tau2 must be at least 1"),
    ("algorithm.kind=sync-sd-feel algorithm.alpha=0", "alpha must be at least 1"),
    ("speeds.kind=two-point speeds.slow_share=1.5", "slow_share must be between 0 and 1"),
    ("speeds.kind=log-normal speeds.sigma=-1", "sigma must be"),
    ("speeds.kind=log-normal speeds.mean_flops=-1", "mean_flops must be positive, not -1"),
    ("speeds.kind=log-normal speeds.mean_flops=0", "mean_flops must be positive, not 0"),
    ("speeds.kind=log-normal speeds.heterogeneity=3", "has no option 'heterogeneity': there are sigma, mean_flops"),
    ("speeds.kind=exponential speeds.mean_flops=-1", "mean_flops must be positive, not -1"),
    ("speeds.kind=exponential speeds.least=0", "least must be above 0"),
    ("speeds.kind=file speeds.path=nope.csv", "'nope.csv' cannot be read"),
    ("speeds.kind=file speeds.path=3", "path must be a text"),
    ("drift.kind=jitter drift.sigma=-1", "drift", "sigma must be at least 0, not -1"),
    ("drift.kind=jitter drift.period_s=0", "drift", "period_s"),
    ("drift.kind=daily drift.depth=1", "drift", "depth must be"),
    ("fading.kind=daily fading.depth=1", "fading", "depth must be"),
    ("split.kind=shards split.per_client=0", "per_client must be from 1 to 47"),
    ("split.kind=shards split.per_client=1000", "per_client must be from 1 to 47"),
    ("split.kind=iid federation.clients=2000", "1438 training samples cannot give 1 to each of 2000 clients"),
    ("dataset.kind=quadratic split.kind=dirichlet", "needs classes", "choose iid or natural"),
    ("dataset.kind=quadratic dataset.dimension=0", "dimension must be"),
    ("dataset.kind=synthetic dataset.alpha=-1", "alpha must be"),
    ("topology.kind=grid topology.columns=-1", "columns must be from 1 to 6"),
    ("topology.kind=grid topology.torus=1", "torus must be true or false"),
    ("topology.kind=random topology.p=0", "p must be above 0"),
    ("topology.kind=random topology.p=0.001", "no connected graph of 6 servers", "raise p"),
    ("topology.kind=random-regular topology.degree=0", "degree must be from 1 to 5"),
    ("topology.kind=random-regular topology.degree=1", "no connected graph", "raise degree"),
    ("topology.kind=random-regular federation.servers=5", "even when the number of servers is odd"),
    ("topology.kind=small-world topology.near=3", "near must be even"),
    ("topology.kind=small-world topology.rewire=2", "rewire must be from 0 to 1"),
    ("topology.kind=tree topology.branching=0", "branching must be at least 1"),
    ("topology.kind=nsfnet topology.p=1", "is a map and takes no option 'p'"),
]


@pytest.mark.parametrize(("assignments", "fragments"), [(items, rest) for items, *rest in TOGETHER])
def test_dotted_keys_together(assignments, fragments):
    refused(PLAN + " ".join(f"--set {shlex.quote(item)}" for item in assignments.split()), *fragments)


def options(what, kind):
    """The keywords that a user may give to a built-in plug-in."""
    function = maps.find(kind) if what == "topology" else catalogue.find(what, kind)
    if isinstance(function, Path):
        return []
    supplied = {
        "clients",
        "rng",
        "draw",
        "servers",
        "labels",
        "owners",
        "min_samples",
        "uniforms",
        "count",
        "names",
        "of",
    }
    return [name for name in inspect.signature(function).parameters if name not in supplied]


PRESENCES = ("availability", "server_outages", "link_outages")
BUILT_IN = [
    (what, kind)
    for what in ("algorithm", "psi", "topology", "speeds", "drift", "fading", "split", *PRESENCES)
    for kind in catalogue.names(what)
    if kind != "auto"
]


@pytest.mark.parametrize(("what", "kind"), BUILT_IN)
@pytest.mark.parametrize("value", ["-1", "0", "1e-308"])
def test_no_value_of_any_option_leads_to_a_traceback(what, kind, value):
    for name in options(what, kind):
        line = f"{PLAN} --clients 12 --servers 4 --set {what}.kind={kind} --set {what}.{name}={value} --out {name}"
        result = CliRunner().invoke(app, shlex.split(line))
        assert result.exception is None or isinstance(result.exception, SystemExit), (line, result.exception)
        assert result.exit_code in (0, 2), line
        assert Path(name).exists() == (result.exit_code == 0), line


@pytest.mark.parametrize("kind", catalogue.names("algorithm"))
@pytest.mark.parametrize("value", [0, -1])
def test_a_job_has_at_least_one_step(kind, value):
    for name in {"local_steps", "min_steps", "tau1"} & set(options("algorithm", kind)):
        line = f"{PLAN} --clients 12 --servers 4 --algorithm {kind} --set algorithm.{name}={value}"
        refused(line, f"algorithm.{name} must be at least 1, not {value}")


FILES = [
    ("seed = ", "'s.toml' is not TOML"),
    ("[federation", "'s.toml' is not TOML"),
    ("seed = 1\nseed = 2", "'s.toml' is not TOML"),
    (b"\xff\xfe", "'s.toml' cannot be read: it is not UTF-8 text"),
    ("sed = 2", "s.toml: key 'sed' is unknown: did you mean 'seed'?"),
    ("[federaton]\nclients = 3", "did you mean 'federation'?"),
    ("[federation]\nclinets = 3", "did you mean 'clients'?"),
    ("federation = [1]", "[federation] must be a section"),
    ("[[federation]]\nclients = 3", "[federation] must be a section"),
    ("psi = true", "psi must be a name, or a section with a kind"),
    ("[psi]\nkind = ['a']", "psi must be a name, or a section with a kind"),
    ("[psi]\na = 3", "psi 'inverse' has no option 'a'"),
    ("[psi]\nkind = 'hinge'\na = 2020-01-01", "psi.a must be a number"),
    ("seed = '1'", "seed must be a whole number, not '1'"),
    ("[network]\nuplink_bps = '5 mbps'", "uplink_bps: '5 mbps' is not a quantity"),
    ("[network]\nuplink_bps = [5]", "network.uplink_bps must be a number"),
    ("[network]\nuplink_bps = true", "network.uplink_bps must be a number"),
    ("[training]\nlearning_rate = '0.1'", "training.learning_rate must be a number, not '0.1'"),
    ("[training]\nlearning_rate = nan", "training.learning_rate must be finite"),
    ("[training]\naugment = 'yes'", "training.augment must be true or false"),
    ("[evaluation]\nevery_s = 2020-01-01", "evaluation.every_s must be a number"),
    ("[consensus]\nrounds = 1.5", "consensus.rounds must be a whole number or 'auto'"),
    ("preset = 'nope'", "preset 'nope' is unknown: there are"),
    ("preset = ''", "preset '' is unknown: there are"),
    ("preset = 3", "preset 3 is unknown: there are"),
    ("preset = [1]", "preset"),
]


@pytest.mark.parametrize(("content", "fragments"), [(content, rest) for content, *rest in FILES])
def test_scenario_files(content, fragments):
    write("s.toml", content)
    refused(PLAN + "--config s.toml", *fragments)


@pytest.mark.parametrize("content", ["stop = 'never'", "[stop]\nuntil_s = 'x'", "[stop]\niterations = 1.5"])
def test_a_file_is_checked_even_where_a_flag_has_the_last_word(content):
    write("s.toml", content)
    refused(PLAN + "--config s.toml", "stop")


def test_an_assignment_is_checked_even_where_a_flag_has_the_last_word():
    refused(PLAN + "--set stop.iterations=hello", "stop.iterations must be a whole number")


def node_link(nodes, links, **changes):
    data = {"directed": False, "multigraph": False, "graph": {}, "nodes": [{"id": node} for node in nodes]}
    return json.dumps(data | {"edges": [{"source": a, "target": b} | rest for a, b, rest in links]} | changes)


def graphml(kind="undirected", edges="", keys=""):
    nodes = '<node id="a"/><node id="b"/>'
    space = 'xmlns="http://graphml.graphdrawing.org/xmlns"'
    return f'<graphml {space}>{keys}<graph edgedefault="{kind}">{nodes}{edges}</graph></graphml>'


LINK = '<edge source="a" target="b"/>'
PAIR = [(0, 1, {})]
MAPS = [
    ("m.json", node_link([0, 1, 2, 3], [(0, 1, {}), (2, 3, {})]), "is not connected: 2 parts"),
    ("m.json", node_link([0, 1], PAIR, directed=True), "is directed or has double links"),
    ("m.json", node_link([0, 1], PAIR, multigraph=True), "is directed or has double links"),
    ("m.json", node_link([0, 1], [*PAIR, (0, 0, {})]), "links server 0 with itself"),
    ("m.json", node_link([], []), "has no server"),
    *(
        ("m.json", node_link([0, 1], [(0, 1, {"rate_bps": rate})]), "rate_bps of the link 0-1 must be")
        for rate in ("fast", -1, 0, True, [1], float("nan"), float("inf"))
    ),
    ("m.json", "{", "the map 'm.json'"),
    ("m.json", "", "the map 'm.json'"),
    ("m.json", b"\xff\xfe", "the map 'm.json'"),
    ("m.json", "[1, 2]", "the map 'm.json'", "node-link"),
    ("m.json", "3", "the map 'm.json'", "node-link"),
    ("m.json", "{}", "the map 'm.json'", "node-link"),
    ("m.json", node_link([0, 1], [], edges=[{"source": 0}]), "the map 'm.json'", "target"),
    ("m.graphml", "hello", "the map 'm.graphml' is not a graphml graph"),
    ("m.graphml", "", "the map 'm.graphml' is not a graphml graph"),
    ("m.graphml", "<a></a>", "the map 'm.graphml' is not a graphml graph"),
    ("m.graphml", graphml(), "is not connected"),
    ("m.graphml", graphml("directed", LINK), "is directed"),
    ("m.graphml", graphml(edges=LINK * 2), "double links"),
]


@pytest.mark.parametrize(("name", "content", "fragments"), [(name, content, rest) for name, content, *rest in MAPS])
def test_maps(name, content, fragments):
    write(name, content)
    refused(f"{PLAN} --topology {name}", *fragments)


TOPOLOGIES = [
    ("return None", "gave", "instead of a networkx graph"),
    ("return [[0, 1], [1, 0]]", "gave", "instead of a networkx graph"),
    ("return nx.path_graph", "instead of a networkx graph"),
    ("return nx.empty_graph(servers)", "is not connected: 6 parts"),
    ("return nx.path_graph(servers + 1)", "made 7 servers where 6 were asked for"),
    ("return nx.path_graph(0)", "has no server"),
    ("return nx.DiGraph(nx.path_graph(servers))", "is directed"),
    ("return nx.MultiGraph(nx.path_graph(servers))", "double links"),
    ("g = nx.path_graph(servers); g.add_edge(0, 0); return g", "links server 0 with itself"),
    ("g = nx.path_graph(servers); g[0][1]['rate_bps'] = 'x'; return g", "rate_bps of the link 0-1"),
    ("g = nx.path_graph(servers); g.nodes[0]['x'] = object(); return g", "mine:f"),
    ("raise ValueError('boom')", "mine:f", "boom"),
    ("raise ValueError('two\\nlines')", "mine:f", "two"),
    ("return 1 / 0", "mine:f", "division by zero"),
    ("return nx.path_graph(servers, wrong=1)", "mine:f", "wrong"),
]


@pytest.mark.parametrize(("body", "fragments"), [(body, rest) for body, *rest in TOPOLOGIES])
def test_topology_functions(body, fragments):
    write("mine.py", f"import networkx as nx\ndef f(servers):\n    {body}\n")
    refused(PLAN + "--topology mine:f", *fragments)


PSIS = [
    ("return lambda d: d + 1", "psi 'mine:f' grows with the staleness"),
    ("return lambda d: -1.0", "never negative"),
    ("return lambda d: 1 - d", "never negative"),
    ("return lambda d: 0.0", "above 0 at staleness 0"),
    ("return lambda d: math.inf", "finite"),
    ("return lambda d: math.nan", "finite"),
    ("return lambda d: 'x'", "psi 'mine:f'"),
    ("return lambda d: None", "psi 'mine:f'"),
    ("return lambda d: 1j", "psi 'mine:f'"),
    ("return lambda d: 1 / d", "psi 'mine:f'", "division by zero"),
    ("return lambda: 1.0", "psi 'mine:f'"),
    ("return 3", "psi 'mine:f'"),
    ("return None", "psi 'mine:f'"),
    ("raise ValueError('boom')", "psi 'mine:f'", "boom"),
]


@pytest.mark.parametrize(("body", "fragments"), [(body, rest) for body, *rest in PSIS])
def test_psi_functions(body, fragments):
    write("mine.py", f"import math\ndef f():\n    {body}\n")
    refused(PLAN + "--psi mine:f", *fragments)


def test_a_psi_that_takes_the_staleness_itself_is_told_what_a_psi_is():
    write("mine.py", "def f(staleness):\n    return 1 / (1 + staleness)\n")
    refused(PLAN + "--psi mine:f", "psi 'mine:f'", "staleness", "return")


MODULES = [
    ("mine:f", "raise ValueError('boom')", "mine.py", "boom"),
    ("mine:f", "raise ValueError('two\\nlines')", "mine.py", "two"),
    ("mine:f", "import a_module_that_does_not_exist", "mine.py", "a_module_that_does_not_exist"),
    ("mine:f", "def f(:\n", "mine.py", "SyntaxError"),
    ("mine:f", "import sys; sys.exit(3)", "mine.py"),
    ("mine:f", "f = 3", "'mine' has no function 'f'"),
    ("mine:g", "def f(): pass", "'mine' has no function 'g'"),
    ("mine.py:g", "def f(): pass", "has no function 'g'"),
    ("mine:", "def f(): pass", "mine:"),
    ("yours:f", "def f(): pass", "no module 'yours' to import and no file 'yours.py'"),
    ("a.b:f", "def f(): pass", "no module 'a.b'"),
    (":f", "def f(): pass", ":"),
    ("mine:f", "def f(q): pass", "needs the option 'q'"),
]


@pytest.mark.parametrize("what", ["topology", "psi", "dataset"])
@pytest.mark.parametrize(("kind", "content", "fragments"), [(kind, content, rest) for kind, content, *rest in MODULES])
def test_modules_of_ones_own(what, kind, content, fragments):
    write("mine.py", content)
    refused(f"{PLAN} --set {what}.kind={kind}", *fragments)


@pytest.mark.parametrize("what", ["dataset", "algorithm", "speeds", "drift", "fading", "split", *PRESENCES])
@pytest.mark.parametrize("body", ["return None", "return 'x'", "raise ValueError('boom')"])
def test_functions_that_give_nonsense(what, body):
    write("mine.py", f"def f():\n    {body}\n")
    refused(f"{PLAN} --set {what}.kind=mine:f", f"{what} 'mine:f'")


SPEEDS = ["[1.0, 2.0]", "np.ones(clients + 1)", "-np.ones(clients)", "np.full(clients, np.nan)", "['x'] * clients"]


@pytest.mark.parametrize("value", SPEEDS)
def test_speeds_that_cannot_be(value):
    write("mine.py", f"import numpy as np\ndef f(clients):\n    return {value}\n")
    refused(PLAN + "--set speeds.kind=mine:f", "speeds 'mine:f'")


@pytest.mark.parametrize("value", ["0.0", "-1.0", "float('nan')", "'x'", "None"])
@pytest.mark.parametrize("what", ["drift", "fading"])
def test_factors_that_cannot_be(what, value):
    write("mine.py", f"def f():\n    return lambda client, start_s: {value}\n")
    refused(f"{PLAN} --set {what}.kind=mine:f", f"{what} 'mine:f'")


def test_a_file_in_the_users_folder_without_its_function():
    write("topologies/mesh.py", "def other(servers): pass\n")
    refused(PLAN + "--topology mesh", "mesh.py", "has no function 'mesh'")


def test_a_broken_file_in_the_users_folder():
    write("topologies/mesh.py", "def mesh(:\n")
    refused(PLAN + "--topology mesh", "mesh.py", "SyntaxError")


def test_a_broken_file_in_the_users_folder_does_not_spoil_other_messages():
    write("topologies/mesh.py", "def mesh(:\n")
    refused(PLAN + "--topology nope", "topology 'nope' is unknown")


SIX = "--clients 6 --servers 3 --set speeds.kind=file --set speeds.path=c.csv "
CLIENTS = [
    ("flops\n1e9\n", "has 1 clients, not 6: set federation.clients to 1"),
    ("speed\n" + "1e9\n" * 6, "has no column 'flops': there are speed"),
    ("flops\n" + "fast\n" * 6, "flops must be a number, not 'fast'"),
    ("flops\n" + "-1\n" * 6, "every flops must be a positive number"),
    ("flops\n" + "0\n" * 6, "every flops must be a positive number"),
    ("flops\n" + "nan\n" * 6, "every flops must be a positive number"),
    ("flops\n" + "inf\n" * 6, "every flops must be a positive number"),
    (b"\xff\xfe\x00", "'c.csv' cannot be read"),
]


@pytest.mark.parametrize(("content", "fragments"), [(content, rest) for content, *rest in CLIENTS])
def test_clients_files(content, fragments):
    write("c.csv", content)
    refused(PLAN + SIX, *fragments)


@pytest.mark.parametrize("content", ["", "flops\n"])
def test_an_empty_clients_file_does_not_ask_for_no_clients(content):
    write("c.csv", content)
    assert "clients to 0" not in refused(PLAN + SIX, "c.csv")


def clients_csv(servers):
    return "flops,server\n" + "".join(f"1e9,{server}\n" for server in servers)


SERVERS = [
    ("flops\n" + "1e9\n" * 6, "has no column 'server'"),
    (clients_csv([0] * 6), "must name every server from 0 to 2"),
    (clients_csv([0, 0, 1, 1, 2, 7]), "must name every server from 0 to 2"),
    (clients_csv([0, 0, 1, 1, 2, 0.5]), "must name every server from 0 to 2"),
    (clients_csv([0, 0, 1, 1, 2, -1]), "must name every server from 0 to 2"),
    (clients_csv([0, 0, 1, 1, 2, "nan"]), "server"),
    (clients_csv([0, 0, 1, 1, 2, "inf"]), "server"),
    (clients_csv([0, 0, 1, 1, 2, "1e30"]), "server"),
    (clients_csv([0, 0, 1, 1, 2, ""]), "server must be a number"),
]


@pytest.mark.parametrize(("content", "fragments"), [(content, rest) for content, *rest in SERVERS])
def test_clusters_from_a_clients_file(content, fragments):
    write("c.csv", content)
    refused(PLAN + SIX + "--set federation.assignment=file", *fragments)


def test_a_clients_file_saved_by_a_spreadsheet_is_read():
    write("c.csv", "\ufeffflops\r\n" + "1e9\r\n" * 6)
    result = CliRunner().invoke(app, shlex.split(PLAN + SIX))
    assert result.exit_code == 0, result.stderr


def test_a_folder_that_is_not_empty():
    write("out/precious.txt", "x")
    refused(PLAN + "--out out", "the folder 'out' is not empty", "choose another --out")


def test_a_folder_that_is_a_file():
    write("out", "x")
    refused(PLAN + "--out out", "the folder 'out' cannot be made")


def test_a_data_file_that_is_none():
    write("d.npz", "x")
    refused(PLAN + "--dataset d.npz", "'d.npz' cannot be read as an .npz file")
    refused(PLAN + "--dataset d.npz --set dataset.a=1", "takes no option 'a'")


def test_a_data_file_without_labels():
    np.savez("d.npz", x_train=np.zeros((4, 2)))
    refused(PLAN + "--dataset d.npz", "has no array y_train: it needs x_train, y_train, x_test, y_test")


@pytest.mark.parametrize("existing", [(), ("data", "mine")])
@pytest.mark.parametrize(("dataset", "kind"), [("mnist", "MNIST"), ("cifar10", "CIFAR10")])
def test_a_data_set_that_is_not_there(dataset, kind, existing, monkeypatch):
    def offline(*arguments, **options):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    for name in existing:
        Path(name).mkdir()
    refused(f"{PLAN} --dataset {dataset}", f"{dataset}.npz", "no network", "--dataset digits")
    refused(f"{PLAN} --dataset {dataset} --data-dir mine", "'mine'", f"torchvision's {kind}")


DATASETS = [
    ("Dataset({})", "_train"),
    ("Dataset({'x_train': np.zeros((500, 3))})", "y_train"),
    ("Dataset(arrays(500, labels=-1))", "label"),
    ("Dataset(arrays(500) | {'y_train': np.zeros(400, dtype=int)})", "400"),
    ("Dataset(arrays(500) | {'x_train': np.full((500, 3), np.nan)})", "finite"),
]


@pytest.mark.parametrize(("value", "fragment"), DATASETS)
@pytest.mark.parametrize("command", [PLAN, RUN], ids=["plan", "run"])
def test_data_sets_of_ones_own(command, value, fragment):
    if command == PLAN and fragment == "finite":
        pytest.skip("a plan does not look at the samples")
    write(
        "mine.py",
        "import numpy as np\n"
        "from asyncfeel import Dataset\n"
        "def arrays(n, labels=0):\n"
        "    y = np.full(n, labels)\n"
        "    return {'x_train': np.zeros((n, 3)), 'y_train': y, 'x_test': np.zeros((n, 3)), 'y_test': y}\n"
        f"def f():\n    return {value}\n",
    )
    refused(f"{command} --dataset mine:f --set split.kind=iid", "mine:f", fragment)


TRAINING = [
    ("--model nope", "model 'nope' is unknown: there are auto, cnn, logistic"),
    ("--model mlp --set model.hidden=0", "hidden must be at least 1"),
    ("--model mlp --set model.hiden=3", "has no option 'hiden': there are hidden, layers"),
    ("--model point", "model 'point' is for data without classes"),
    ("--dataset synthetic --model cnn", "model 'cnn' needs images", "choose logistic or mlp"),
    ("--dataset quadratic --model cnn", "point"),
    ("--device nope", "device 'nope' is unknown: there are auto, cpu"),
    ("--device cuda:99", "device 'cuda:99' is not there"),
    ("--executor math:sqrt", "executor 'math:sqrt'"),
    ("--set training.momentum=1", "momentum must be", "less than 1"),
    ("--set training.augment=true", "augment is for colour images"),
    ("--set training.batch=1000", "cannot give 1000 to each of 6 clients"),
]


@pytest.mark.parametrize(("flags", "fragments"), [(line, rest) for line, *rest in TRAINING])
def test_what_only_training_needs(flags, fragments):
    refused(RUN + flags, *fragments)


MODELS = [
    ("None", "mine:f"),
    ("3", "mine:f"),
    ("1 / 0", "mine:f", "division by zero"),
    ("nn.Linear(3, outputs)", "cannot take samples"),
    ("nn.Sequential(nn.Flatten(), nn.Linear(64, 3))", "outputs"),
    ("nn.Identity()", "outputs"),
]


@pytest.mark.parametrize(("value", "fragments"), [(value, rest) for value, *rest in MODELS])
def test_models_of_ones_own(value, fragments):
    write("mine.py", f"from torch import nn\ndef f(shape, outputs):\n    return {value}\n")
    refused(RUN + "--model mine:f", *fragments)


SHOW = [
    ("show nope", "'nope' is not a run folder: it has no manifest.json"),
    ("show .", "'.' is not a run folder"),
    ("init none/s.toml", "cannot be written"),
    ("init .", "exists"),
    ("init s.toml --preset nope", "preset 'nope' is unknown"),
    ("list nope", "there is nothing to list as 'nope': choose algorithm, topology"),
    ("list ''", "there is nothing to list"),
]


@pytest.mark.parametrize(("line", "fragment"), SHOW)
def test_other_commands(line, fragment):
    refused(line, fragment)


@pytest.mark.parametrize("content", ["", "{", "[]", "3", "{}", b"\xff"])
def test_a_folder_whose_manifest_is_none(content):
    write("out/manifest.json", content)
    refused("show out", "'out'")


def test_a_file_that_exists_is_not_overwritten_by_init():
    write("s.toml", "precious")
    refused("init s.toml", "the file 's.toml' exists", "--force")
    assert Path("s.toml").read_text() == "precious"


def test_a_plan_needs_a_limit_that_it_can_reach():
    patient = dataclasses.replace(Scenario(), stop=Stop(patience=3))
    with pytest.raises(InputError, match="would never end: give --until"):
        run(patient, train=False)
    assert listing() == []


@pytest.mark.parametrize(
    "line", ["plan --nope", "plan extra", "nope", "init", "show", "plan --servers many", "plan --seed 1.5"]
)
def test_usage_errors_point_to_the_help(line):
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == 2
    assert "--help" in result.stderr
    assert listing() == []
