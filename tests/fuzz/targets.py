"""What is fuzzed: every parser as a function of bytes, out of which nothing but an `InputError` may come."""

import contextlib
import functools
import io
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import networkx as nx
from rich.console import Console

from asyncfeel import InputError, Scenario, catalogue, run, summary, units
from asyncfeel.compare import request, variants
from asyncfeel.learning.datasets.files import from_npz
from asyncfeel.recording import tables
from asyncfeel.report import command, export
from asyncfeel.scenario import text
from asyncfeel.world import clients_file, map_files, maps, topology

Target = Callable[[bytes], object]
FILES = (
    "manifest.json",
    "topology.json",
    "config.toml",
    "clients.csv",
    "iterations.csv",
    "staleness.csv",
    "mixing.csv",
)
KEYS = ("until_s", "uplink_bps", "model_bits", "mean_flops", "flops_per_step", "other")


def replayed(target: str, data: bytes) -> None:
    """Give the bytes to a target; whatever is wrong with them must come out as an `InputError`."""
    with contextlib.suppress(InputError):
        TARGETS[target](data)


@contextlib.contextmanager
def file(name: str, data: bytes) -> Iterator[Path]:
    """A file with these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        yield path


def words(data: bytes) -> str:
    """The bytes as a command line would give them."""
    return data.decode("utf-8", "surrogateescape")


def scenario(data: bytes) -> None:
    """A scenario file, and the text that a run would record of it."""
    with file("s.toml", data) as path:
        text.write(Scenario.load(config=path)).encode()


def assignment(data: bytes) -> None:
    """`--set key=value`."""
    Scenario.load(set=dict([text.parse_assignment(words(data))]))


def quantity(data: bytes) -> None:
    """A number with a unit, for a key of every kind."""
    for key in KEYS:
        with contextlib.suppress(InputError):
            units.quantity(key, words(data))


def lists(data: bytes) -> None:
    """`--seeds`, `--target` and `--vary`."""
    for read in (variants.seeds, lambda given: variants.targets([given]), lambda given: variants.axes(None, [given])):
        with contextlib.suppress(InputError):
            read(words(data))


def comparison(data: bytes) -> None:
    """The comparison.toml of a folder to go on with."""
    with file(request.NAME, data) as path:
        request.read(path.parent).runs  # noqa: B018


def node_link(data: bytes) -> None:
    """A map in JSON."""
    with file("m.json", data) as path:
        topology.check("m", map_files.read(path)).node_link()


def graphml(data: bytes) -> None:
    """A map in GraphML."""
    with file("m.graphml", data) as path:
        topology.check("m", map_files.read(path)).node_link()


def clients(data: bytes) -> None:
    """A clients file."""
    with file("c.csv", data) as path:
        clients_file.column(str(path), 3, "flops")


def npz(data: bytes) -> None:
    """A data file, unpacked."""
    with file("d.npz", data) as path:
        found = from_npz(path)
        found.x_train, found.x_test  # noqa: B018


def table(data: bytes) -> None:
    """A table of a run."""
    with file("iterations.csv", data) as path:
        tables.read(path.parent, "iterations")


def folder(data: bytes) -> None:
    """A run folder of which one file is not what it was: shown, exported and reported."""
    name = FILES[data[0] % len(FILES)] if data else FILES[0]
    with tempfile.TemporaryDirectory() as place:
        damaged = Path(place, "run")
        shutil.copytree(sound_run(), damaged)
        (damaged / name).write_bytes(data[1:])
        with contextlib.suppress(InputError):
            summary.show(Console(file=io.StringIO()), summary.of_folder(damaged))
        for what, form in [("staleness", "csv"), ("mixing", "npz"), ("iterations", "npz")]:
            with contextlib.suppress(InputError):
                export.export(damaged, what, form, Path(place, f"{what}.{form}"))
        command.report([damaged], Path(place, "report.html"))


def kind(data: bytes) -> None:
    """The name of a plug-in."""
    for what in ("algorithm", "psi", "dataset", "split", "speeds", "drift"):
        with contextlib.suppress(InputError):
            catalogue.find(what, words(data))
    found = maps.find(words(data))
    if isinstance(found, Path):
        nx.is_connected(map_files.read(found))


@functools.cache
def sound_run() -> Path:
    """A small plan, made once."""
    numbers = {"work.flops_per_step": 1e6, "network.model_bits": 1e5}
    return run(Scenario.load(iterations=8, set=numbers), Path(tempfile.mkdtemp(), "run"), train=False).folder


TARGETS: dict[str, Target] = {
    one.__name__: one
    for one in (
        *(scenario, assignment, quantity, lists, comparison, node_link, graphml),
        *(clients, npz, table, folder, kind),
    )
}
