"""What a person sees while a comparison goes on: one live view over all runs, or plain lines."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from asyncfeel import progress
from asyncfeel.compare.outcome import Outcome, time_to
from asyncfeel.compare.request import Request, Run
from asyncfeel.evaluation import Measurement
from asyncfeel.scenario import Scenario
from asyncfeel.units import duration
from asyncfeel.world.federation import Federation


class View(Protocol):
    """Shows a comparison to somebody."""

    def start(self, folder: Path, request: Request, outcomes: list[Outcome]) -> None:
        """The comparison is about to begin; some outcomes may be known already."""
        ...

    def begin(self, run: Run) -> progress.View:
        """A run is about to begin; what comes out is told about it."""
        ...

    def end(self, outcome: Outcome) -> None:
        """The run is over."""
        ...

    def finish(self) -> None:
        """The comparison is over, for whatever reason."""
        ...


class Silent:
    """Shows nothing."""

    def start(self, folder: Path, request: Request, outcomes: list[Outcome]) -> None:
        """Nothing."""

    def begin(self, run: Run) -> progress.View:
        """Nothing."""
        return progress.Silent()

    def end(self, outcome: Outcome) -> None:
        """Nothing."""

    def finish(self) -> None:
        """Nothing."""


class Lines(Silent):
    """Plain lines: for pipes and logs."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def start(self, folder: Path, request: Request, outcomes: list[Outcome]) -> None:
        """Say what is compared, and where it is recorded."""
        self._targets, self._total = request.targets, len(outcomes)
        self._number = sum(one.status == "finished" for one in outcomes)
        over = f"{counted(len(request.variants), 'variant')} over {counted(len(request.seeds), 'seed')}"
        self._write(f"comparing {over}: {counted(self._total, 'run')}, {self._number} finished already")
        self._write(f"recording to {folder}")

    def begin(self, run: Run) -> progress.View:
        """Say which run it is."""
        self._number += 1
        self._title = f"[{self._number}/{self._total}] {run}"
        self._write(self._title)
        return Quarters(lambda line: self._write(f"{self._title}: {line}"))

    def end(self, outcome: Outcome) -> None:
        """Say how the run ended."""
        self._write(f"{self._title}: {ending(outcome, self._targets)}")


class Quarters(progress.Watching):
    """A line for each quarter of a run."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._told = 0

    def measured(self, measurement: Measurement) -> None:
        """Say how far the run is and how good the model, if another quarter is done."""
        super().measured(measurement)
        if (quarter := int(4 * self.fraction)) > self._told:
            self._told = quarter
            self._write(f"{self.limits()} · {self.quality()}")


class Current(progress.Screen):
    """The run that is going on, as a part of a larger view."""

    def start(self, scenario: Scenario, federation: Federation, folder: Path) -> None:
        """Remember whom to watch; the larger view is open already."""
        progress.Watching.start(self, scenario, federation, folder)

    @property
    def lines(self) -> int:
        """About how many lines it takes."""
        return 6 + min(len(self.federation.servers), progress.SHOWN) if hasattr(self, "federation") else 1

    @property
    def done(self) -> float:
        """How much of it is done."""
        return self.fraction if hasattr(self, "federation") else 0.0

    def __rich__(self) -> RenderableType:
        return super().__rich__() if hasattr(self, "federation") else Text("preparing")


class Screen(Silent):
    """A live view: all runs, the one that is going on, and those that are over."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._current: Current | None = None

    def start(self, folder: Path, request: Request, outcomes: list[Outcome]) -> None:
        """Open the view."""
        self._targets, self._total = request.targets, len(outcomes)
        self._over = [one for one in outcomes if one.status == "finished"]
        self._earlier = len(self._over)
        self._began = time.perf_counter()
        self._live = Live(self, console=self._console, refresh_per_second=5, transient=True)
        self._live.start()

    def begin(self, run: Run) -> progress.View:
        """Show the run."""
        self._run, self._current = run, Current(self._console)
        return self._current

    def end(self, outcome: Outcome) -> None:
        """Put the run into the table."""
        self._current = None
        self._over.append(outcome)

    def finish(self) -> None:
        """Close the view; the table of the comparison takes its place."""
        if hasattr(self, "_live"):
            self._live.stop()

    def __rich__(self) -> RenderableType:
        current = self._current
        overall = Table.grid(padding=(0, 2))
        done = len(self._over) + (current.done if current else 0.0)
        bar = ProgressBar(total=1.0, completed=done / self._total, width=24)
        overall.add_row(bar, f"{done / self._total:.0%}  {len(self._over)} of {self._total} runs{self._left(done)}")
        parts: list[RenderableType] = [overall]
        if current:
            parts += [Text(f"\n{self._run}"), current]
        rows = self._console.size.height - (current.lines if current else 0) - 7
        return Group(*parts, Text(), self._table(max(2, rows))) if self._over else Group(*parts)

    def _left(self, done: float) -> str:
        elapsed_s, here = time.perf_counter() - self._began, done - self._earlier
        left = f" · about {duration(elapsed_s * (self._total - done) / here)} left" if here > 0 else ""
        return f" · {duration(elapsed_s)} elapsed{left}"

    def _table(self, most: int) -> RenderableType:
        """The runs that are over, as many of the newest as there is room for, and why the last one failed."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("run", overflow="ellipsis", no_wrap=True)
        table.add_column("ended")
        for name in ("accuracy", *(f"to {target}" for target in self._targets)):
            table.add_column(name, justify="right", no_wrap=True)
        if len(self._over) > most:
            table.add_row(f"... and {len(self._over) - most} before")
        for one in self._over[-most:]:
            times = (_said(one.numbers.get(time_to(target)), duration) for target in self._targets)
            accuracy = _said(one.numbers.get("final_accuracy"), lambda value: f"{value:.1%}")
            table.add_row(Text(str(one.run)), one.status, accuracy, *times)
        failed = [f"{one.run}: {one.message}" for one in self._over if one.message]
        return Group(table, Text(failed[-1] if failed else "", overflow="ellipsis", no_wrap=True))


def _said(value: float | None, say: Callable[[float], str]) -> str:
    return "" if value is None else say(value)


def ending(outcome: Outcome, targets: Sequence[float]) -> str:
    """How a run ended, in one line."""
    if outcome.status != "finished":
        return f"{outcome.status}: {outcome.message}" if outcome.message else outcome.status
    said = ["finished"]
    if (accuracy := outcome.numbers.get("final_accuracy")) is not None:
        said.append(f"test accuracy {accuracy:.1%}")
    for target in targets:
        time_s = outcome.numbers.get(time_to(target))
        said.append(f"{target} not reached" if time_s is None else f"{target} after {duration(time_s)}")
    return " · ".join(said)


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "run"), counted(2, "run")
    ('1 run', '2 runs')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")
