"""The command `asyncfeel`: run, plan, compare, reproduce, list, init, show; heavy imports wait till needed."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from asyncfeel import flags
from asyncfeel.errors import InputError
from asyncfeel.flags import Json, Preset, option, taking
from asyncfeel.terminal import interruptible, reported

if TYPE_CHECKING:
    from asyncfeel.progress import View
    from asyncfeel.result import Result
    from asyncfeel.scenario import Scenario

app = typer.Typer(
    name="asyncfeel",
    help="Asynchronous federated learning at the edge: a simulated clock, real training, everything recorded.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, option("Print the version and exit.", "--version")] = False,
) -> None:
    """Asynchronous federated learning at the edge: a simulated clock, real training, everything recorded."""
    if version:
        from asyncfeel import __version__

        print(f"asyncfeel {__version__}")
        raise typer.Exit


@app.command()
@taking(flags.scenario, flags.output, flags.resuming, flags.printing, flags.tracking)
def run(**arguments: Any) -> None:
    """Simulate and train: shows progress, writes a run folder, ends with a summary."""
    execute(arguments, train=True)


@app.command()
@taking(flags.printing, flags.tracking)
def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of a run that was stopped or killed, or is to go on.")],
    until: Annotated[str | None, option("A later simulated time limit than the recorded one.")] = None,
    iterations: Annotated[int | None, option("A higher limit on the global iterations.")] = None,
    workers: Annotated[int | None, option("Jobs at once; 0: as many as there are cores.")] = None,
    **arguments: Any,
) -> None:
    """Go on with a run from its last checkpoint, to the byte as if it had never stopped."""
    with reported(), interruptible() as stop:
        from asyncfeel import tracking, units
        from asyncfeel.resuming import command

        limit_s = None if until is None else units.quantity("until_s", until)
        view = _view(Console(), arguments["quiet"] or arguments["json_"])
        trackers = [tracking.make(kind) for kind in arguments["log"] or []]
        limits: dict[str, Any] = {"until": limit_s, "iterations": iterations, "workers": workers}
        result = command.resume(folder, **limits, view=view, stop=stop, trackers=trackers)
        _tell(result, arguments)
    _exit(result)


@app.command()
@taking(flags.scenario, flags.output, flags.printing)
def plan(**arguments: Any) -> None:
    """The same world without training: iterations, staleness and simulated time in a moment."""
    execute(arguments, train=False)


@app.command()
@taking(flags.scenario, flags.output, flags.printing)
def compare(
    algorithms: Annotated[str | None, option("Algorithms to compare, e.g. async-sd-feel,sync-sd-feel.")] = None,
    seeds: Annotated[str | None, option("Seeds for every variant: 1..3, or 1,2,5.")] = None,
    target: Annotated[
        list[str] | None, option("A test accuracy, e.g. 0.9: when was it reached? A list, or repeated.", "--target")
    ] = None,
    vary: Annotated[
        list[str] | None,
        option("Any key with its values, e.g. --vary psi.kind=inverse,constant; may be repeated.", "--vary"),
    ] = None,
    **arguments: Any,
) -> None:
    """Run several variants as a paired comparison: a run each, one table; again: what is finished is skipped."""
    asked = arguments | {"algorithms": algorithms, "seeds": seeds, "target": target, "vary": vary}
    quiet, json_ = arguments["quiet"], arguments["json_"]
    with reported(), interruptible() as stop:
        from asyncfeel.compare import command, progress, runner, summary
        from asyncfeel.recording.manifest import strict

        console, view = Console(), progress.Silent()
        if not (quiet or json_):
            terminal = console.is_terminal
            view = progress.Screen(console) if terminal else progress.Lines(lambda line: print(line, flush=True))
        found = runner.compare(command.request(asked), arguments["out"], view=view, stop=stop)
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


@app.command()
@taking(flags.reproduction)
def reproduce(
    figure: Annotated[str, typer.Argument(help="fig2: accuracy over time, trained; fig1: the timeline, planned.")],
    **arguments: Any,
) -> None:
    """Make a figure of the paper again: its runs, the figure, tables, and whether its claims held."""
    quiet = arguments["quiet"]
    with reported(), interruptible() as stop:
        from asyncfeel.compare import progress
        from asyncfeel.reproduce import asking, command, summary

        console, view, say = Console(), progress.Silent(), _nothing if quiet else _line
        if not quiet:
            view = progress.Screen(console) if console.is_terminal else progress.Lines(_line)
        done = command.reproduce(asking.asked(arguments | {"figure": figure}), view, stop, say)
        print(done.asked.out) if quiet else summary.show(console, done)
    found = done.found
    if found.status == "interrupted":
        finished = f"{found.count('finished')} of {len(found.runs)} runs are finished"
        print(f"interrupted: {finished}; the same command goes on", file=sys.stderr)
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
    force: Annotated[bool, option("Overwrite an existing file.", "--force")] = False,
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


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, finished or still running.")],
    out: Annotated[Path | None, option("The page; left out: RUN/report.html, or report.html for several runs.")] = None,
    figures: Annotated[Path | None, option("A folder for the figures as PNG, PDF and SVG (needs matplotlib).")] = None,
) -> None:
    """Draw what happened: one HTML page with interactive charts, and figures for a paper."""
    with reported():
        from asyncfeel.report import command

        for path in command.report(runs, out, figures)[:1]:
            print(path)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="A run folder, finished or still running.")],
    what: Annotated[str, typer.Argument(help="staleness, mixing, metrics, iterations, clients, servers or faults.")],
    format_: Annotated[
        str | None, option("csv, json, parquet or npz; left out: as FILE ends, or csv.", "--format")
    ] = None,
    out: Annotated[Path | None, option("The file to write; left out: RUN-WHAT.FORMAT in this folder.")] = None,
    wide: Annotated[bool, option("Staleness only: a row per iteration, a column per server.", "--wide")] = False,
    force: Annotated[bool, option("Overwrite an existing file.", "--force")] = False,
) -> None:
    """Write a table of a run folder in another format, to the last digit."""
    with reported():
        from asyncfeel.report import export as exporting

        print(f"wrote {exporting.export(folder, what, format_, out, wide=wide, force=force)}")


@app.command()
def timeline(
    folder: Annotated[Path, typer.Argument(help="A run folder, finished or still running.")],
    out: Annotated[Path | None, option("The trace to write; left out: RUN/timeline.json.")] = None,
    from_: Annotated[str, option("The first simulated second: 90s, 30m ...", "--from")] = "0s",
    until: Annotated[str | None, option("The last one; left out: the end of the run.")] = None,
) -> None:
    """Write a trace for Perfetto: who did what when, and the models on their way."""
    with reported():
        from asyncfeel import units
        from asyncfeel.report import timeline as traces

        end_s = None if until is None else units.quantity("until_s", until)
        done = traces.write(folder, out, units.quantity("from_s", from_), end_s)
        print(f"wrote {done.path}: {done.slices} slices, {done.flows} arrows; open it at https://ui.perfetto.dev")


def execute(arguments: dict[str, Any], train: bool) -> None:
    """Run or plan what the flags describe, and show it as they ask."""
    with reported(), interruptible() as stop:
        scenario = _scenario(arguments)
        from asyncfeel import tracking

        view = _view(Console(), arguments["quiet"] or arguments["json_"])
        trackers = [tracking.make(kind) for kind in arguments.get("log") or []]
        if arguments.get("resume"):
            from asyncfeel.resuming.command import again

            result = again(scenario, arguments["out"], view=view, stop=stop, trackers=trackers)
        else:
            from asyncfeel.simulation import run as simulate

            result = simulate(scenario, arguments["out"], train=train, view=view, stop=stop, trackers=trackers)
        _tell(result, arguments)
    _exit(result)


def _tell(result: "Result", arguments: dict[str, Any]) -> None:
    """Print what a run came to, as the flags ask."""
    from asyncfeel import summary
    from asyncfeel.recording.manifest import strict

    if arguments["json_"]:
        print(json.dumps(strict(result.summary)))
    elif arguments["quiet"]:
        print(result.folder)
    else:
        summary.show(Console(), summary.of_folder(result.folder))


def _exit(result: "Result") -> None:
    if result.summary["status"] == "interrupted":
        print(f"interrupted: 'asyncfeel resume {result.folder}' goes on", file=sys.stderr)
        raise typer.Exit(130)


def _scenario(arguments: dict[str, Any]) -> "Scenario":
    from asyncfeel.scenario import Scenario, text
    from asyncfeel.scenario.build import FLAGS

    flags = {name: arguments[name] for name in FLAGS}
    dotted = dict(text.parse_assignment(item) for item in arguments["set_"] or [])
    return Scenario.load(arguments["preset"], arguments["config"], dotted, **flags)


def _line(text: str) -> None:
    print(text, flush=True)


def _nothing(text: str) -> None:
    """Say nothing."""


def _view(console: Console, silent: bool) -> "View":
    from asyncfeel.progress import Lines, Screen, Silent

    if silent:
        return Silent()
    return Screen(console) if console.is_terminal else Lines(lambda line: print(line, flush=True))
