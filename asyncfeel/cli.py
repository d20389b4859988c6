"""The command `asyncfeel`: run, plan, compare, list, init, show. Heavy imports wait until they are needed."""

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from asyncfeel.errors import AsyncFeelError, InputError

if TYPE_CHECKING:
    from asyncfeel.progress import View
    from asyncfeel.scenario import Scenario

app = typer.Typer(
    name="asyncfeel",
    help="Asynchronous federated learning at the edge: a simulated clock, real training, everything recorded.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _option(help: str, *names: str) -> Any:
    return typer.Option(*names, help=help, show_default=False)


Algorithm = Annotated[str | None, _option("What to simulate, e.g. async-sd-feel or sync-sd-feel.")]
Topology = Annotated[str | None, _option("Graph of the servers: ring, grid, random ..., or a .json or .graphml map.")]
Psi = Annotated[str | None, _option("Staleness function: inverse, constant, polynomial ...")]
Mixing = Annotated[str | None, _option("How servers mix: paper or weighted (async), optimal or metropolis (sync).")]
Servers = Annotated[int | None, _option("Number of edge servers.")]
Clients = Annotated[int | None, _option("Number of client devices.")]
Heterogeneity = Annotated[float | None, _option("Gap H: the fastest device over the slowest.")]
DatasetName = Annotated[str | None, _option("Data: digits, cifar10 ..., a .npz file, or module:function.")]
DataDir = Annotated[str | None, _option("Folder with data sets, or where they are downloaded to.")]
ModelName = Annotated[str | None, _option("What is trained: cnn, mlp, logistic, resnet18, or module:function.")]
Until = Annotated[str | None, _option("Simulated time limit: seconds, or 90s, 30m, 2h, 1d.")]
Iterations = Annotated[int | None, _option("Limit on the global iterations.")]
Seed = Annotated[int | None, _option("Names every random stream.")]
ExecutorName = Annotated[str | None, _option("How training is done: serial or threads (or stub: not at all).")]
Workers = Annotated[int | None, _option("Jobs at once; 0: as many as there are cores.")]
Device = Annotated[str | None, _option("auto, cpu, cuda, cuda:N or mps.")]
Out = Annotated[Path | None, _option("The run's folder; left out: a new one under runs/.")]
Config = Annotated[Path | None, _option("A scenario file (TOML); see 'asyncfeel init'.")]
Preset = Annotated[str | None, _option("Start from quick (the default), paper or paper-small.")]
Set = Annotated[list[str] | None, _option("Any key of the scenario, e.g. --set psi.a=0.5; may be repeated.", "--set")]
Quiet = Annotated[bool, _option("Print the folder of the run and nothing else.", "--quiet")]
Json = Annotated[bool, _option("Print the summary as one JSON object and nothing else.", "--json")]


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, _option("Print the version and exit.", "--version")] = False,
) -> None:
    """Asynchronous federated learning at the edge: a simulated clock, real training, everything recorded."""
    if version:
        from asyncfeel import __version__

        print(f"asyncfeel {__version__}")
        raise typer.Exit


@app.command()
def run(
    algorithm: Algorithm = None,
    topology: Topology = None,
    psi: Psi = None,
    mixing: Mixing = None,
    servers: Servers = None,
    clients: Clients = None,
    heterogeneity: Heterogeneity = None,
    dataset: DatasetName = None,
    data_dir: DataDir = None,
    model: ModelName = None,
    until: Until = None,
    iterations: Iterations = None,
    seed: Seed = None,
    executor: ExecutorName = None,
    workers: Workers = None,
    device: Device = None,
    out: Out = None,
    config: Config = None,
    preset: Preset = None,
    set_: Set = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Simulate and train: shows progress, writes a run folder, ends with a summary."""
    execute(dict(locals()), train=True)


@app.command()
def plan(
    algorithm: Algorithm = None,
    topology: Topology = None,
    psi: Psi = None,
    mixing: Mixing = None,
    servers: Servers = None,
    clients: Clients = None,
    heterogeneity: Heterogeneity = None,
    dataset: DatasetName = None,
    data_dir: DataDir = None,
    model: ModelName = None,
    until: Until = None,
    iterations: Iterations = None,
    seed: Seed = None,
    executor: ExecutorName = None,
    workers: Workers = None,
    device: Device = None,
    out: Out = None,
    config: Config = None,
    preset: Preset = None,
    set_: Set = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """The same world without training: iterations, staleness and simulated time in a moment."""
    execute(dict(locals()), train=False)


@app.command()
def compare(
    algorithms: Annotated[str | None, _option("Algorithms to compare, e.g. async-sd-feel,sync-sd-feel.")] = None,
    seeds: Annotated[str | None, _option("Seeds for every variant: 1..3, or 1,2,5.")] = None,
    target: Annotated[
        list[str] | None, _option("A test accuracy, e.g. 0.9: when was it reached? A list, or repeated.", "--target")
    ] = None,
    vary: Annotated[
        list[str] | None,
        _option("Any key with its values, e.g. --vary psi.kind=inverse,constant; may be repeated.", "--vary"),
    ] = None,
    algorithm: Algorithm = None,
    topology: Topology = None,
    psi: Psi = None,
    mixing: Mixing = None,
    servers: Servers = None,
    clients: Clients = None,
    heterogeneity: Heterogeneity = None,
    dataset: DatasetName = None,
    data_dir: DataDir = None,
    model: ModelName = None,
    until: Until = None,
    iterations: Iterations = None,
    seed: Seed = None,
    executor: ExecutorName = None,
    workers: Workers = None,
    device: Device = None,
    out: Annotated[
        Path | None, _option("The comparison's folder, new or to be continued; left out: a new one under comparisons/.")
    ] = None,
    config: Config = None,
    preset: Preset = None,
    set_: Set = None,
    quiet: Annotated[bool, _option("Print the folder of the comparison and nothing else.", "--quiet")] = False,
    json_: Annotated[bool, _option("Print the table as one JSON object and nothing else.", "--json")] = False,
) -> None:
    """Run several variants as a paired comparison: a run each, one table; again: what is finished is skipped."""
    arguments = dict(locals())
    with reported(), interruptible() as stop:
        from asyncfeel.compare import command, progress, runner, summary
        from asyncfeel.recording.manifest import strict

        console, view = Console(), progress.Silent()
        if not (quiet or json_):
            terminal = console.is_terminal
            view = progress.Screen(console) if terminal else progress.Lines(lambda line: print(line, flush=True))
        found = runner.compare(command.request(arguments), out, view=view, stop=stop)
        if json_:
            print(json.dumps(strict(found.summary())))
        elif quiet:
            print(found.folder)
        else:
            summary.show(console, found)
    if found.status == "interrupted":
        finished = f"{found.count('finished')} of {len(found.runs)} runs are finished"
        print(f"interrupted: {finished}; 'asyncfeel compare --out {found.folder}' goes on", file=sys.stderr)
        raise typer.Exit(130)
    if found.status == "failed":
        print(f"error: {found.count('failed')} of {len(found.runs)} runs failed", file=sys.stderr)
        raise typer.Exit(1)


@app.command("list")
def list_(
    what: Annotated[str | None, typer.Argument(help="One kind only, e.g. psi.", show_default=False)] = None,
) -> None:
    """List everything that can be chosen by name, with a description."""
    with reported():
        from asyncfeel import catalogue, summary

        chosen = [name for name in catalogue.LISTED if what in (None, name, f"{name}s", f"{name[:-1]}ies")]
        if not chosen:
            raise InputError(f"there is nothing to list as {what!r}: choose {', '.join(catalogue.LISTED)}")
        summary.show_catalogue(Console(), {name: catalogue.names(name) for name in chosen})


@app.command()
def init(
    file: Annotated[Path, typer.Argument(help="Where to write the scenario.")],
    preset: Preset = None,
    force: Annotated[bool, _option("Overwrite an existing file.", "--force")] = False,
) -> None:
    """Write a commented scenario file to start from."""
    with reported():
        from asyncfeel import catalogue
        from asyncfeel.prepare import with_defaults
        from asyncfeel.scenario import Scenario, text

        if file.exists() and not force:
            raise InputError(f"the file {str(file)!r} exists: choose another name, or --force")
        heading = f"A scenario for asyncfeel: run it with 'asyncfeel run --config {file.name}'."
        written = text.write(with_defaults(Scenario.load(preset)), heading, catalogue.option_meanings)
        try:
            file.write_text(written, encoding="utf-8")
        except OSError as error:
            raise InputError(f"the file {str(file)!r} cannot be written: {error.strerror}") from error
        print(f"wrote {file}")


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="A run folder, finished or still running.")],
    json_: Json = False,
) -> None:
    """Summarise a run folder."""
    with reported():
        from asyncfeel import summary
        from asyncfeel.recording.manifest import strict

        found = summary.of_folder(folder)
        print(json.dumps(strict(found), indent=2)) if json_ else summary.show(Console(), found)


def execute(arguments: dict[str, Any], train: bool) -> None:
    """Run or plan what the flags describe, and show it as they ask."""
    with reported(), interruptible() as stop:
        scenario = _scenario(arguments)
        from asyncfeel import summary
        from asyncfeel.recording.manifest import strict
        from asyncfeel.simulation import run as simulate

        console = Console()
        view = _view(console, arguments["quiet"] or arguments["json_"])
        result = simulate(scenario, arguments["out"], train=train, view=view, stop=stop)
        if arguments["json_"]:
            print(json.dumps(strict(result.summary)))
        elif arguments["quiet"]:
            print(result.folder)
        else:
            summary.show(console, summary.of_folder(result.folder))
    if result.summary["status"] == "interrupted":
        print(f"interrupted: what was reached is in {result.folder}", file=sys.stderr)
        raise typer.Exit(130)


def _scenario(arguments: dict[str, Any]) -> "Scenario":
    from asyncfeel.scenario import Scenario, text
    from asyncfeel.scenario.build import FLAGS

    flags = {name: arguments[name] for name in FLAGS}
    dotted = dict(text.parse_assignment(item) for item in arguments["set_"] or [])
    return Scenario.load(arguments["preset"], arguments["config"], dotted, **flags)


def _view(console: Console, silent: bool) -> "View":
    from asyncfeel.progress import Lines, Screen, Silent

    if silent:
        return Silent()
    return Screen(console) if console.is_terminal else Lines(lambda line: print(line, flush=True))


@contextmanager
def reported() -> Iterator[None]:
    """Turn asyncfeel's own errors into one line and an exit code: 2 for wrong input, else 1."""
    try:
        yield
    except InputError as error:
        _fail(error, 2)
    except AsyncFeelError as error:
        _fail(error, 1)


def _fail(error: AsyncFeelError, code: int) -> NoReturn:
    print("error:", " ".join(str(error).split()), file=sys.stderr)
    raise typer.Exit(code)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, so that a run ends cleanly; a second Ctrl-C ends it at once."""
    stop = threading.Event()

    def request(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
