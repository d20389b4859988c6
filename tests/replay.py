"""A second implementation of the schedule, in plain Python: what a run folder's rows must be.

``replay`` reads only the inputs of a run folder (config.toml, clients.csv, topology.json) and derives the rows of
iterations.csv, staleness.csv and mixing.csv with a heap of events. ``compare`` sets them against the files. Nothing
of the package is imported here, so that an error in one of the two shows.
"""

import csv
import heapq
import itertools
import json
import math
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

TOLERANCE = 1e-12

Row = tuple[Any, ...]


def _exactly(text: str, value: float) -> bool:
    """Whether the text is this very float."""
    return float(text) == value


def _nearly(text: str, value: float) -> bool:
    """Whether the text is this number up to rounding."""
    return math.isclose(float(text), value, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _integer(text: str, value: int) -> bool:
    """Whether the text is this integer, written as one."""
    return text == str(value)


COLUMNS: dict[str, dict[str, Callable[[str, Any], bool]]] = {
    "iterations": {
        "iteration": _integer,
        "time_s": _exactly,
        "server": _integer,
        "started_s": _exactly,
        "deadline_s": _exactly,
        "steps_min": _integer,
        "steps_mean": _nearly,
        "steps_max": _integer,
        "staleness": _integer,
    },
    "staleness": {
        "iteration": _integer,
        "time_s": _exactly,
        "trigger": _integer,
        "server": _integer,
        "staleness": _integer,
        "weight": _nearly,
    },
    "mixing": {"iteration": _integer, "source": _integer, "target": _integer, "weight": _nearly},
}

PSI: dict[str, Callable[[int, dict[str, float]], float]] = {
    "constant": lambda d, p: 1.0,
    "inverse": lambda d, p: 1 / (2 * (d + 1)),
    "polynomial": lambda d, p: (1 + d) ** -p["a"],
    "hinge": lambda d, p: 1.0 if d <= p["b"] else 1 / (p["a"] * (d - p["b"]) + 1),
    "exponential": lambda d, p: math.exp(-p["a"] * d),
    "harmonic": lambda d, p: 1 / (1 + p["b"] * d),
    "threshold": lambda d, p: 1.0 if d <= p["c"] else p["v"],
    "bound": lambda d, p: p["b"] / (p["b"] + d),
    "logarithmic": lambda d, p: 1 / (1 + math.log(1 + d)),
    "sigmoid": lambda d, p: (1 - math.exp(-p["c"] * d)) / p["a"] + math.exp(-p["c"] * d),
}


@dataclass(frozen=True)
class World:
    """The inputs of a run: its configuration, the graph, and per server its clients' speeds and its data share."""

    config: dict[str, Any]
    graph: nx.Graph
    speeds: list[list[float]]
    shares: np.ndarray

    @property
    def servers(self) -> int:
        """The number of servers, D."""
        return len(self.speeds)

    @property
    def algorithm(self) -> dict[str, Any]:
        """The [algorithm] table."""
        return self.config["algorithm"]

    @property
    def synchronous(self) -> bool:
        """Whether all servers go in step."""
        return self.algorithm["kind"] == "sync-sd-feel"

    @property
    def limits(self) -> tuple[float, float]:
        """The limits on the time and on the number of global iterations; infinite where none is set."""
        stop = self.config["stop"]
        until, iterations = stop.get("until_s", math.inf), stop.get("iterations", math.inf)
        assert math.isfinite(until) or math.isfinite(iterations), "config.toml sets no limit"
        return until, iterations


@dataclass
class Replay:
    """The rows that the three schedule files must hold, in order."""

    iterations: list[Row] = field(default_factory=list)
    staleness: list[Row] = field(default_factory=list)
    mixing: list[Row] = field(default_factory=list)


def load(folder: Path) -> World:
    """Return the inputs that the folder of a run describes; refuse what the oracle does not know."""
    config = tomllib.loads((folder / "config.toml").read_text())
    assert config["algorithm"]["kind"] in ("async-sd-feel", "sync-sd-feel"), config["algorithm"]["kind"]
    for table in ("drift", "fading"):
        assert config.get(table, {}).get("kind", "none") == "none", f"[{table}] changes over time"
    graph = nx.node_link_graph(json.loads((folder / "topology.json").read_text()), edges="edges")
    assert sorted(graph) == list(range(len(graph))), "servers are not numbered from 0"
    speeds: list[list[float]] = [[] for _ in graph]
    samples = np.zeros(len(graph))
    for row in _rows(folder / "clients.csv", ["client", "server", "samples", "flops"]):
        speeds[int(row["server"])].append(float(row["flops"]))
        samples[int(row["server"])] += int(row["samples"])
    return World(config, graph, speeds, samples / samples.sum())


def _rows(path: Path, columns: list[str]) -> list[dict[str, str]]:
    """Return the rows of a CSV file as texts, after a look at its header."""
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        assert reader.fieldnames == columns, f"{path.name}: header {reader.fieldnames}, expected {columns}"
        return list(reader)


def replay(folder: Path) -> Replay:
    """Return the rows that follow from the inputs in the folder."""
    world = load(folder)
    return _synchronous(world) if world.synchronous else _asynchronous(world)


# Durations


def _deadline(world: World, server: int) -> float:
    """Return T_comp of a cluster: fixed, or as long as its slowest client needs for the least number of steps (A13)."""
    algorithm = world.algorithm
    if algorithm["deadline"] == "fixed":
        return algorithm["deadline_s"]
    steps = algorithm.get("min_steps", world.config["training"]["local_steps"])
    return steps * world.config["work"]["flops_per_step"] / min(world.speeds[server])


def _steps(world: World, server: int, deadline: float) -> list[int]:
    """Return the steps that each client of a cluster does before the deadline (A11)."""
    work = world.config["work"]["flops_per_step"]
    return [max(1, math.floor(deadline * speed / work + 1e-9)) for speed in world.speeds[server]]


def _exchange(world: World, server: int) -> float:
    """Return T_ss of a server, that of its slowest link; zero without links."""
    network = world.config["network"]
    rates = [link.get("rate_bps", network["exchange_bps"]) for link in world.graph.adj[server].values()]
    return max((network["model_bits"] / rate for rate in rates), default=0.0)


def _phases(world: World, compute: float, exchange: float) -> list[float]:
    """Return the durations of an iteration's phases: the downlink if there is one, computing, uplink, exchange."""
    network = world.config["network"]
    bits = network["model_bits"]
    downlink = [bits / network["downlink_bps"]] if "downlink_bps" in network else []
    return [*downlink, compute, bits / network["uplink_bps"], exchange]


# Mixing matrices; entry [source, target] is p^{source,target}


def _psi(world: World, staleness: int) -> float:
    """Return psi of a staleness."""
    parameters = world.config["psi"]
    return PSI[parameters["kind"]](staleness, parameters)


def _weights(world: World, trigger: int, staleness: list[int]) -> dict[int, float]:
    """Return w_j of the trigger and its neighbours: their psi, made to sum to 1."""
    values = {j: _psi(world, staleness[j]) for j in sorted([trigger, *world.graph.adj[trigger]])}
    values[trigger] = values[trigger] or _psi(world, 0)
    total = sum(values.values())
    return {j: value / total for j, value in values.items()}


def paper_matrix(world: World, trigger: int, staleness: list[int]) -> np.ndarray:
    """Return P_k with the paper's weights (A1)."""
    matrix = np.eye(world.servers)
    weights = _weights(world, trigger, staleness)
    for j in world.graph.adj[trigger]:
        matrix[j, trigger] = matrix[trigger, j] = weights[j]
        matrix[j, j] = 1 - weights[j]
    matrix[trigger, trigger] = weights[trigger]
    return matrix


def weighted_matrix(world: World, trigger: int, staleness: list[int]) -> np.ndarray:
    """Return P_k with weights that keep the data-weighted mean."""
    matrix, shares = np.eye(world.servers), world.shares
    weights = _weights(world, trigger, staleness)
    for j in sorted(world.graph.adj[trigger]):
        matrix[j, trigger] = min(1, shares[j] / shares[trigger]) * weights[j]
        matrix[trigger, j] = min(1, shares[trigger] / shares[j]) * weights[j]
        matrix[j, j] = 1 - matrix[trigger, j]
        matrix[trigger, trigger] -= matrix[j, trigger]
    return matrix


def optimal_matrix(graph: nx.Graph, shares: np.ndarray) -> np.ndarray:
    """Return I - 2 / (largest + smallest non-zero eigenvalue) L Omega^-1."""
    degrees = np.array([graph.degree[d] for d in range(len(graph))], dtype=float)
    laplacian = np.diag(degrees) - nx.to_numpy_array(graph, nodelist=range(len(graph)), weight=None)
    root = np.sqrt(shares)
    eigenvalues = np.linalg.eigvalsh(laplacian / np.outer(root, root))
    nonzero = eigenvalues[eigenvalues > 1e-9 * max(eigenvalues.max(), 1.0)]
    if not len(nonzero):
        return np.eye(len(graph))
    return np.eye(len(graph)) - 2 / (nonzero.max() + nonzero.min()) * laplacian / shares


def metropolis_matrix(graph: nx.Graph, shares: np.ndarray) -> np.ndarray:
    """Return the Metropolis-Hastings chain whose fixed point is the data shares.

    A target proposes itself and each of its neighbours alike, and accepts so that the shares balance.
    """
    matrix = np.eye(len(graph))
    for source, target in itertools.chain(graph.edges, ((v, u) for u, v in graph.edges)):
        balance = shares[source] / (1 + graph.degree[source]) / shares[target]
        matrix[source, target] = min(1 / (1 + graph.degree[target]), balance)
        matrix[target, target] -= matrix[source, target]
    return matrix


def _single_matrix(world: World, trigger: int, staleness: list[int]) -> np.ndarray:
    """Return P_k of an iteration that one server completes."""
    make = paper_matrix if world.algorithm["mixing"] == "paper" else weighted_matrix
    return make(world, trigger, staleness)


def _joint_matrix(world: World, triggers: list[int]) -> np.ndarray:
    """Return P_k of servers that complete at one instant: the synchronous one over the links that touch them (A14)."""
    touched = nx.Graph()
    touched.add_nodes_from(range(world.servers))
    touched.add_edges_from(world.graph.edges(triggers))
    return optimal_matrix(touched, world.shares)


def _round_matrix(world: World) -> np.ndarray:
    """Return the matrix of a synchronous mixing, its alpha exchanges as one power."""
    make = optimal_matrix if world.algorithm["mixing"] == "optimal" else metropolis_matrix
    return np.linalg.matrix_power(make(world.graph, world.shares), world.algorithm["alpha"])


# The event loops


@dataclass(frozen=True, order=True)
class Event:
    """The end of a phase of a server's iteration; ordered by time, then by when it was scheduled."""

    time: float
    number: int
    server: int = field(compare=False)
    phase: int = field(compare=False)
    started: float = field(compare=False)


class Clock:
    """The heap of phase ends of all clusters."""

    def __init__(self, phases: list[list[float]]) -> None:
        self.phases = phases
        self.heap: list[Event] = []
        self.numbers = itertools.count()

    def start(self, server: int, now: float) -> None:
        """Begin an iteration of a server."""
        self._push(server, 0, now, now)

    def _push(self, server: int, phase: int, now: float, started: float) -> None:
        """Schedule the end of a phase that begins now."""
        end = now + self.phases[server][phase]
        heapq.heappush(self.heap, Event(end, next(self.numbers), server, phase, started))

    def completions(self, together: bool) -> Iterator[list[Event]]:
        """Yield the completions in order: one at a time, or all those of an instant."""
        done: list[Event] = []
        while self.heap:
            event = heapq.heappop(self.heap)
            if event.phase + 1 < len(self.phases[event.server]):
                self._push(event.server, event.phase + 1, event.time, event.started)
            else:
                done.append(event)
            if done and not (together and self.heap and self.heap[0].time == done[0].time):
                yield sorted(done, key=lambda end: end.server)
                done = []


def _asynchronous(world: World) -> Replay:
    """Return the rows of asynchronous SD-FEEL."""
    result, broadcast = Replay(), [0] * world.servers
    deadlines = [_deadline(world, d) for d in range(world.servers)]
    steps = [_steps(world, d, deadlines[d]) for d in range(world.servers)]
    clock = Clock([_phases(world, deadlines[d], _exchange(world, d)) for d in range(world.servers)])
    for server in range(world.servers):
        clock.start(server, 0.0)
    until, limit = world.limits
    for k, events in enumerate(clock.completions(world.algorithm["simultaneous"] == "together")):
        if k >= limit or events[0].time > until:
            break
        triggers = [event.server for event in events]
        staleness = _staleness(world, k, broadcast, triggers)
        single = len(triggers) == 1
        matrix = _single_matrix(world, triggers[0], staleness) if single else _joint_matrix(world, triggers)
        for event in events:
            d = event.server
            _record(result, k, event, deadlines[d], steps[d], staleness, matrix)
            broadcast[d] = k + 1
            clock.start(d, event.time)
        _record_matrix(result, k, matrix)
    return result


def _staleness(world: World, k: int, broadcast: list[int], triggers: list[int]) -> list[int]:
    """Return k minus the iteration of the last broadcast, per server; 0 for triggers that count as fresh (A7)."""
    fresh = triggers if world.algorithm["own_staleness"] == "fresh" else []
    return [0 if j in fresh else k - last for j, last in enumerate(broadcast)]


def _synchronous(world: World) -> Replay:
    """Return the rows of synchronous SD-FEEL."""
    result, servers, algorithm = Replay(), range(world.servers), world.algorithm
    tau1 = algorithm.get("tau1", world.config["training"]["local_steps"])
    compute = tau1 * world.config["work"]["flops_per_step"] / min(min(speeds) for speeds in world.speeds)
    exchange = algorithm["alpha"] * max(_exchange(world, d) for d in servers)
    matrix, now, (until, limit) = _round_matrix(world), 0.0, world.limits
    for k in itertools.count():
        mixes = (k + 1) % algorithm["tau2"] == 0
        started, now = now, sum(_phases(world, compute, exchange if mixes else 0.0), start=now)
        if k >= limit or now > until:
            return result
        mixing = matrix if mixes else np.eye(world.servers)
        for d in servers:
            steps = [tau1] * len(world.speeds[d])
            _record(result, k, Event(now, k, d, 0, started), compute, steps, [0] * world.servers, mixing)
        _record_matrix(result, k, mixing)
    raise AssertionError


def _record(
    result: Replay, k: int, event: Event, deadline: float, steps: list[int], staleness: list[int], matrix: np.ndarray
) -> None:
    """Append a completion's row of iterations.csv and its D rows of staleness.csv."""
    d, time = event.server, event.time
    mean = sum(steps) / len(steps)
    result.iterations.append((k, time, d, event.started, deadline, min(steps), mean, max(steps), staleness[d]))
    result.staleness.extend((k, time, d, j, late, float(matrix[j, d])) for j, late in enumerate(staleness))


def _record_matrix(result: Replay, k: int, matrix: np.ndarray) -> None:
    """Append an iteration's rows of mixing.csv: the entries that differ from the identity."""
    for source, target in zip(*np.nonzero(matrix != np.eye(len(matrix))), strict=True):
        result.mixing.append((k, int(source), int(target), float(matrix[source, target])))


# The comparison


def compare(folder: Path) -> int:
    """Return the number of rows checked; raise AssertionError at the first that the inputs do not explain."""
    world, expected, rows = load(folder), replay(folder), 0
    for name, columns in COLUMNS.items():
        found = _rows(folder / f"{name}.csv", list(columns))
        _compare_rows(name, found, getattr(expected, name))
        rows += len(found)
    _check_matrices(folder, world)
    _check_bound(folder, world)
    return rows


def _compare_rows(name: str, found: list[dict[str, str]], expected: list[Row]) -> None:
    """Raise where a row of the file is not the expected one, or when rows are missing or too many."""
    columns = COLUMNS[name]
    for number, (row, values) in enumerate(zip(found, expected, strict=False)):
        for (column, equal), value in zip(columns.items(), values, strict=True):
            assert equal(row[column], value), (
                f"{name}.csv, row {number}, {column}: {row[column]}, expected {value}; "
                f"the row is {tuple(row.values())}, expected {values}"
            )
    assert len(found) == len(expected), f"{name}.csv has {len(found)} rows, expected {len(expected)}"


def _recorded_matrices(folder: Path, world: World) -> dict[int, np.ndarray]:
    """Return P_k of every iteration as mixing.csv has it."""
    iterations = _rows(folder / "iterations.csv", list(COLUMNS["iterations"]))
    matrices = {int(row["iteration"]): np.eye(world.servers) for row in iterations}
    for row in _rows(folder / "mixing.csv", list(COLUMNS["mixing"])):
        matrices[int(row["iteration"])][int(row["source"]), int(row["target"])] = float(row["weight"])
    return matrices


def _check_matrices(folder: Path, world: World) -> None:
    """Raise where a recorded matrix lacks a property that its kind has, or where the weights are not its columns."""
    matrices = _recorded_matrices(folder, world)
    triggers: dict[int, set[int]] = {k: set() for k in matrices}
    for row in _rows(folder / "staleness.csv", list(COLUMNS["staleness"])):
        k, trigger, weight = int(row["iteration"]), int(row["trigger"]), float(row["weight"])
        triggers[k].add(trigger)
        assert matrices[k][int(row["server"]), trigger] == weight, f"iteration {k}: the two files differ in a weight"
    for k, matrix in matrices.items():
        _check_matrix(f"iteration {k}", world, matrix, world.synchronous or len(triggers[k]) > 1)


def _check_matrix(where: str, world: World, matrix: np.ndarray, joint: bool) -> None:
    """Raise unless columns sum to 1 and P mtil = mtil or, as in the paper, P = P^T; non-negative if of one trigger."""
    assert np.allclose(matrix.sum(axis=0), 1, rtol=0, atol=TOLERANCE), f"{where}: columns do not sum to 1"
    if not joint:
        assert (matrix >= 0).all(), f"{where}: a weight is negative"
    if not joint and world.algorithm["mixing"] == "paper":
        assert (matrix == matrix.T).all(), f"{where}: the matrix is not symmetric"
    else:
        assert np.allclose(matrix @ world.shares, world.shares, rtol=0, atol=TOLERANCE), f"{where}: P mtil is not mtil"


def _check_bound(folder: Path, world: World) -> None:
    """Raise where a staleness exceeds (D - 1) ceil(H) (A31); H of the iteration times where links differ in rate."""
    if world.synchronous:
        return
    exchanges = [_exchange(world, d) for d in range(world.servers)]
    values = [speed for speeds in world.speeds for speed in speeds]
    if max(exchanges) > min(exchanges):
        values = [sum(_phases(world, _deadline(world, d), exchanges[d])) for d in range(world.servers)]
    bound = (world.servers - 1) * math.ceil(max(values) / min(values) - 1e-9)
    for row in _rows(folder / "staleness.csv", list(COLUMNS["staleness"])):
        assert int(row["staleness"]) <= bound, f"iteration {row['iteration']}: staleness above the bound {bound}"
