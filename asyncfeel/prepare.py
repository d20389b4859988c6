"""From a scenario to everything that a simulation needs, checked before anything is created.

torch is imported only where a model is needed: to train, or to count its work and its bits.
"""

import dataclasses
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from asyncfeel import catalogue, checks, plugins
from asyncfeel.errors import InputError
from asyncfeel.evaluation import MOST
from asyncfeel.learning.datasets import files
from asyncfeel.learning.datasets.values import Dataset
from asyncfeel.learning.partition import DRAWN, Partition
from asyncfeel.plugins import Plugin
from asyncfeel.scenario import Scenario
from asyncfeel.streams import key, stream, uniforms
from asyncfeel.theory import latency
from asyncfeel.theory.staleness import Psi
from asyncfeel.world import maps, speeds
from asyncfeel.world.federation import Federation
from asyncfeel.world.hazards import Hazards
from asyncfeel.world.layout import Layout
from asyncfeel.world.network import Network
from asyncfeel.world.presence import Presence
from asyncfeel.world.profiles import Profiles, assign
from asyncfeel.world.topology import GIVEN, Topology, draw

if TYPE_CHECKING:
    from asyncfeel.learning.learner import Learner

EVALUATIONS = 50
"""How often the global model is tested when a scenario does not say."""


class Algorithm(Protocol):
    """A system to simulate: starts its processes in a federation, and checks its parameters there."""

    def start(self, federation: Federation) -> None:
        """Start every process at the present instant."""
        ...

    def objective(self, federation: Federation) -> list[float]:
        """How much each cluster's loss counts in what the algorithm really minimises; sums to 1."""
        ...


@dataclass(frozen=True)
class Prepared:
    """A scenario with nothing left open, and the things that it names."""

    scenario: Scenario
    topology: Topology
    profiles: Profiles
    network: Network
    psi: Psi
    algorithm: Algorithm
    layout: Layout
    """Clients and channels as the algorithm uses them."""
    hazards: Hazards
    """What may go wrong."""
    learner: "Learner | None"

    @property
    def recorded(self) -> tuple[Topology, Profiles]:
        """What topology.json and clients.csv describe."""
        if self.layout.recorded:
            return self.layout.network.topology, self.layout.profiles
        return self.topology, self.profiles


def prepare(scenario: Scenario, train: bool) -> Prepared:
    """Everything that the scenario names; an `InputError` if anything is wrong with it."""
    _check_limits(scenario, train)
    seed, clients = scenario.seed, scenario.federation.clients
    algorithm, algorithm_plugin = call("algorithm", scenario.algorithm)
    algorithm = checks.algorithm(algorithm, algorithm_plugin)
    psi, psi_plugin = call("psi", scenario.psi)
    psi = checks.psi(psi, psi_plugin)
    topology, topology_plugin = draw(scenario.topology, scenario.federation.servers, stream(seed, "topology"))
    flops, speeds_plugin = call("speeds", scenario.speeds, clients=clients, rng=stream(seed, "speeds"))
    flops = checks.speeds(flops, speeds_plugin, clients)
    server = assign(scenario.federation.assignment, flops, topology.servers, speeds_plugin, stream(seed, "assignment"))
    drift, drift_plugin = call("drift", scenario.drift, draw=partial(stream, seed, "drift"))
    fading, fading_plugin = call("fading", scenario.fading, draw=partial(stream, seed, "fading"))
    drift, fading = checks.factor(drift, "drift", drift_plugin), checks.factor(fading, "fading", fading_plugin)
    dataset, dataset_plugin = _dataset(scenario)
    parts, split_plugin = _split(scenario, dataset)
    learner, model_plugin = None, scenario.model
    if train or _counts_model(scenario):
        learner, model_plugin = _learner(scenario, dataset, parts)
    resolved = dataclasses.replace(
        _settled(scenario, topology, learner),
        algorithm=algorithm_plugin,
        psi=psi_plugin,
        topology=topology_plugin,
        speeds=speeds_plugin,
        drift=drift_plugin,
        fading=fading_plugin,
        dataset=dataset_plugin,
        split=split_plugin,
        model=model_plugin,
    )
    rates = dataclasses.asdict(resolved.network)
    network = Network(topology, flops, float(resolved.work.flops_per_step), drift=drift, fading=fading, **rates)
    profiles = Profiles(server, parts.sizes, flops)
    checks.durations(network)
    world = Layout(profiles, network, lambda nodes: draw(topology_plugin, nodes, stream(seed, "topology", nodes))[0])
    layout = algorithm.layout(world) if hasattr(algorithm, "layout") else world
    resolved, dangers = hazards(resolved, topology, layout.network.topology)
    return Prepared(resolved, topology, profiles, network, psi, algorithm, layout, dangers, learner if train else None)


def hazards(scenario: Scenario, world: Topology, used: Topology) -> tuple[Scenario, Hazards]:
    """What may go wrong, and the scenario with all options of it.

    Servers and links are those that the algorithm uses; where that is one server alone, a trace may
    still name the others.
    """
    graph = used if used.servers > 1 else world
    given: dict[str, dict[str, Any]] = {
        "availability": {"count": scenario.federation.clients},
        "server_outages": {"names": {(number,): number for number in range(graph.servers)}, "of": "server"},
        "link_outages": {"names": {link: place for place, link in enumerate(graph.links)}, "of": "link"},
    }
    found: dict[str, Presence] = {}
    plugged: dict[str, Any] = {}
    for what, things in given.items():
        draws = partial(uniforms, key(scenario.seed, "faults", what))
        made, plugged[what] = call(what, getattr(scenario, what), uniforms=draws, **things)
        found[what] = checks.presence(made, what, plugged[what])
    odds, naming = dataclasses.asdict(scenario.faults), partial(key, scenario.seed, "faults")
    presences = found["availability"], found["server_outages"], found["link_outages"]
    return dataclasses.replace(scenario, **plugged), Hazards(*presences, key=naming, **odds)


def call(what: str, plugin: Plugin, **given: Any) -> tuple[Any, Plugin]:
    """The thing that a plug-in makes, and the plug-in with all its options."""
    function = catalogue.find(what, plugin.kind)
    name = f"{what} {plugin.kind!r}"
    options = plugins.complete(name, function, plugin.options, frozenset(given))
    return plugins.made(name, function, plugins.supply(function, given) | options), Plugin(plugin.kind, options)


def with_defaults(scenario: Scenario) -> Scenario:
    """The scenario with every option of its plug-ins written out, for a file to edit."""

    def filled(what: str, plugin: Plugin, given: frozenset[str]) -> Plugin:
        return Plugin(plugin.kind, plugins.complete(what, catalogue.find(what, plugin.kind), plugin.options, given))

    topology = maps.find(scenario.topology.kind)
    options = (
        {} if isinstance(topology, Path) else plugins.complete("topology", topology, scenario.topology.options, GIVEN)
    )
    return dataclasses.replace(
        scenario,
        algorithm=filled("algorithm", scenario.algorithm, frozenset()),
        psi=filled("psi", scenario.psi, frozenset()),
        speeds=filled("speeds", scenario.speeds, speeds.GIVEN),
        topology=Plugin(scenario.topology.kind, options),
    )


def _check_limits(scenario: Scenario, train: bool) -> None:
    stop = scenario.stop
    if stop.until_s is None and stop.iterations is None and (stop.patience is None or not train):
        raise InputError("the run would never end: give --until (simulated seconds) or --iterations")
    every_s = scenario.evaluation.every_s
    if stop.until_s is not None and every_s is not None and stop.until_s / every_s > MOST:
        raise InputError(
            f"evaluation.every_s = {every_s} asks for more than {MOST:,} evaluations until {stop.until_s} s: "
            "make it longer"
        )
    for what, kind in [("executor", scenario.execution.executor), ("model", scenario.model.kind)]:
        if ":" in kind:
            plugins.load(what, kind)
        elif kind not in catalogue.names(what):
            raise plugins.unknown(what, kind, catalogue.names(what))


def _dataset(scenario: Scenario) -> tuple[Dataset, Plugin]:
    plugin = scenario.dataset
    if plugin.kind.endswith(".npz"):
        if plugin.options:
            raise InputError(f"dataset {plugin.kind!r} is a file and takes no option {next(iter(plugin.options))!r}")
        return files.from_npz(Path(plugin.kind)), plugin
    rng, data_dir = stream(scenario.seed, "dataset"), Path(scenario.data_dir)
    dataset, resolved = call("dataset", plugin, clients=scenario.federation.clients, rng=rng, data_dir=data_dir)
    return checks.dataset(dataset, plugin), resolved


def _split(scenario: Scenario, dataset: Dataset) -> tuple[Partition, Plugin]:
    plugin = scenario.split
    if plugin.kind == "auto":
        plugin = Plugin(_usual_split(scenario, dataset), plugin.options)
    least = scenario.training.batch if plugin.kind == "dirichlet" else 1
    parts, resolved = call(
        "split",
        plugin,
        labels=dataset.y_train if dataset.loss == "cross-entropy" else None,
        owners=dataset.owners,
        clients=scenario.federation.clients,
        rng=stream(scenario.seed, "split"),
        min_samples=least,
    )
    return checks.partition(parts, plugin, scenario.federation.clients), resolved


def _usual_split(scenario: Scenario, dataset: Dataset) -> str:
    if dataset.owners is not None:
        return "natural"
    batch = scenario.training.batch
    crowded = scenario.federation.clients * batch > len(dataset.y_train)
    # A batch that is too large even for bootstrap's clients is an error of dirichlet's to tell.
    return "bootstrap" if crowded and (batch <= DRAWN or "samples" in scenario.split.options) else "dirichlet"


def _counts_model(scenario: Scenario) -> bool:
    return "model" in (scenario.work.flops_per_step, scenario.network.model_bits)


def _learner(scenario: Scenario, dataset: Dataset, parts: Partition) -> "tuple[Learner, Plugin]":
    from asyncfeel.learning import devices, settings
    from asyncfeel.learning.learner import Learner

    plugin = scenario.model
    if plugin.kind == "auto":
        plugin = Plugin(_usual_model(dataset), plugin.options)
    if dataset.loss == "half-square" and plugin.kind != "point" and ":" not in plugin.kind:
        raise InputError(f"model {plugin.kind!r} needs classes, and this data set has none: choose point")
    function = catalogue.find("model", plugin.kind)
    options = plugins.complete(f"model {plugin.kind!r}", function, plugin.options, frozenset({"shape", "outputs"}))
    training = dataclasses.asdict(scenario.training)
    for name in ("local_steps", "on_divergence", "divergence_limit"):
        del training[name]
    learner = Learner(
        dataset,
        parts,
        lambda shape, outputs: checks.model(
            plugins.made(f"model {plugin.kind!r}", function, {"shape": shape, "outputs": outputs} | options), plugin
        ),
        settings.Training(**training),
        scenario.seed,
        devices.choose(scenario.execution.device),
        scenario.evaluation.train_sample,
        scenario.evaluation.test_sample,
        devices.spread(scenario.execution.device),
        scenario.execution.compile,
        scenario.execution.quick,
    )
    return learner, Plugin(plugin.kind, options)


def _usual_model(dataset: Dataset) -> str:
    if dataset.loss == "half-square":
        return "point"
    return "cnn" if dataset.is_image else "logistic"


def _settled(scenario: Scenario, topology: Topology, learner: "Learner | None") -> Scenario:
    """The scenario with its numbers in place of words: work, bits, servers, evaluations."""
    work, bits = scenario.work.flops_per_step, scenario.network.model_bits
    if isinstance(work, str):
        work = learner.flops_per_step if work == "model" and learner else latency.WORK_READINGS[work]
    if isinstance(bits, str):
        bits = learner.model_bits if bits == "model" and learner else latency.PAPER_MODEL_BITS
    network = dataclasses.replace(scenario.network, model_bits=float(bits))
    return dataclasses.replace(
        scenario,
        federation=dataclasses.replace(scenario.federation, servers=topology.servers),
        work=dataclasses.replace(scenario.work, flops_per_step=float(work)),
        network=dataclasses.replace(network, cloud_bps=network.cloud_bps or network.uplink_bps / 10),
        evaluation=_evaluation(scenario),
    )


def _evaluation(scenario: Scenario) -> Any:
    evaluation, stop = scenario.evaluation, scenario.stop
    if evaluation.every_s is not None or evaluation.every_iterations is not None:
        return evaluation
    if stop.until_s is not None:
        return dataclasses.replace(evaluation, every_s=stop.until_s / EVALUATIONS)
    return dataclasses.replace(evaluation, every_iterations=max(1, (stop.iterations or EVALUATIONS) // EVALUATIONS))
