"""The commands that read a run folder: show, report, export, timeline, verify. Heavy imports wait until needed."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from asyncfeel import safe_files
from asyncfeel.flags import Json, option
from asyncfeel.terminal import interruptible, reported


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
        with safe_files.damaged(f"the run {str(folder)!r}"):
            done = traces.write(folder, out, units.quantity("from_s", from_), end_s)
        print(f"wrote {done.path}: {done.slices} slices, {done.flows} arrows; open it at https://ui.perfetto.dev")


def verify(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, finished or still running.")],
    retrain: Annotated[bool, option("Train again too, and compare the models.", "--retrain")] = False,
    json_: Json = False,
) -> None:
    """Check a run folder: derive the schedule again, and compare every row, count and digest."""
    with reported(), interruptible() if retrain else nullcontext() as stop:
        from asyncfeel.verify import command, summary

        verdicts = []
        for folder in runs:
            verdicts.append(command.verify(folder, retrain, stop))
            if not json_:
                summary.show(Console(), verdicts[-1])
            if verdicts[-1].unreadable:
                print(f"error: {verdicts[-1].unreadable}", file=sys.stderr)
            if stop is not None and stop.is_set():
                print("interrupted: the training was not verified", file=sys.stderr)
                raise typer.Exit(130)
        if json_:
            print(json.dumps({"ok": not command.code(verdicts), "runs": [one.table() for one in verdicts]}))
    if command.code(verdicts):
        raise typer.Exit(command.code(verdicts))
