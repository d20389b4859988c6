"""What a person sees while a run goes on: a live view in a terminal, plain lines elsewhere.

Views are observers: they read the federation and never touch it.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from asyncfeel.evaluation import Measurement
from asyncfeel.scenario import Scenario
from asyncfeel.units import duration
from asyncfeel.world.federation import Federation
from asyncfeel.world.records import Completion

SHOWN = 16
"""How many servers the live view lists."""


class View(Protocol):
    """Shows a run to somebody."""

    def start(self, scenario: Scenario, federation: Federation, folder: Path) -> None:
        """The run is about to begin."""
        ...

    def changing(self, federation: Federation) -> None:
        """The models are about to change."""
        ...

    def completed(self, federation: Federation, completion: Completion) -> None:
        """An iteration is complete."""
        ...

    def measured(self, measurement: Measurement) -> None:
        """The global model was tested."""
        ...

    def finish(self) -> None:
        """The run is over, for whatever reason."""
        ...


class Silent:
    """Shows nothing."""

    def start(self, scenario: Scenario, federation: Federation, folder: Path) -> None:
        """Nothing."""

    def changing(self, federation: Federation) -> None:
        """Nothing."""

    def completed(self, federation: Federation, completion: Completion) -> None:
        """Nothing."""

    def measured(self, measurement: Measurement) -> None:
        """Nothing."""

    def finish(self) -> None:
        """Nothing."""


class Watching(Silent):
    """Keeps what both kinds of views tell: how far the run is, how fast, and how good."""

    def start(self, scenario: Scenario, federation: Federation, folder: Path) -> None:
        """Remember whom to watch."""
        self.scenario, self.federation, self.folder = scenario, federation, folder
        self.latest: Measurement | None = None
        self.steps = 0
        self._began = time.perf_counter()
        self._done_before = self.fraction

    def completed(self, federation: Federation, completion: Completion) -> None:
        """Count the steps of the iteration."""
        self.steps += sum(trigger.total_steps for trigger in completion.triggers)

    def measured(self, measurement: Measurement) -> None:
        """Remember the newest measurement."""
        self.latest = measurement

    @property
    def fraction(self) -> float:
        """How much of the run is done, by the limit that is nearer."""
        stop, done = self.scenario.stop, 0.0
        if stop.until_s:
            done = self.federation.clock.now / stop.until_s
        if stop.iterations:
            done = max(done, self.federation.iteration / stop.iterations)
        return min(1.0, done)

    @property
    def elapsed_s(self) -> float:
        """Real seconds since the start."""
        return time.perf_counter() - self._began

    def title(self) -> str:
        """The run in one line."""
        s, f = self.scenario, self.federation
        world = f"{len(f.servers)} servers ({s.topology.kind}), {len(f.profiles)} clients"
        return f"{s.algorithm.kind} · {world} · psi {s.psi.kind} · {s.dataset.kind}, {s.model.kind} · seed {s.seed}"

    def limits(self) -> str:
        """The simulated time and the iteration, against their limits."""
        stop = self.scenario.stop
        time_s = duration(self.federation.clock.now) + (f" of {duration(stop.until_s)}" if stop.until_s else "")
        iteration = f"{self.federation.iteration:,}" + (f" of {stop.iterations:,}" if stop.iterations else "")
        return f"simulated {time_s} · iteration {iteration}"

    def quality(self) -> str:
        """The newest loss and accuracy."""
        if self.latest is None:
            return ""
        accuracy = self.latest.test_accuracy
        shown = f" · test accuracy {accuracy:.1%}" if accuracy == accuracy else ""
        return f"train loss {self.latest.train_loss:.4f} · test loss {self.latest.test_loss:.4f}{shown}"


class Lines(Watching):
    """Plain lines, one per evaluation: for pipes and logs."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def start(self, scenario: Scenario, federation: Federation, folder: Path) -> None:
        """Say what runs, and where it is recorded."""
        super().start(scenario, federation, folder)
        self._write(self.title())
        self._write(f"recording to {folder}")

    def measured(self, measurement: Measurement) -> None:
        """Say how good the model was."""
        super().measured(measurement)
        at = f"simulated {duration(measurement.time_s)} · iteration {measurement.iteration:,}"
        self._write(f"{at} · {self.quality()}")


class Screen(Watching):
    """A live view: progress, loss and accuracy, and a line for each server."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def start(self, scenario: Scenario, federation: Federation, folder: Path) -> None:
        """Open the view."""
        super().start(scenario, federation, folder)
        self._live = Live(self, console=self._console, refresh_per_second=5, transient=True)
        self._live.start()

    def finish(self) -> None:
        """Close the view; the summary takes its place."""
        if hasattr(self, "_live"):
            self._live.stop()

    def __rich__(self) -> RenderableType:
        progress = Table.grid(padding=(0, 2))
        progress.add_row(
            ProgressBar(total=1.0, completed=self.fraction, width=32), f"{self.fraction:.0%}  {self.limits()}"
        )
        heading = Text(self.title(), style="bold")
        return Group(heading, progress, Text(self.quality()), Text(self.speed()), self._servers())

    def speed(self) -> str:
        """Real speed and the real time that remains."""
        elapsed_s, fraction = max(self.elapsed_s, 1e-9), self.fraction
        done = fraction - self._done_before
        left = f" · about {duration(elapsed_s * (1 - fraction) / done)} left" if done > 0 else ""
        return f"{self.steps / elapsed_s:,.0f} training steps/s · {duration(elapsed_s)} elapsed{left}"

    def _servers(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name in ("server", "iterations", "staleness"):
            table.add_column(name, justify="right")
        table.add_column("doing")
        staleness = self.federation.staleness()
        for server in self.federation.servers[:SHOWN]:
            number = server.number
            table.add_row(str(number), str(server.iterations), str(staleness[number]), server.phase)
        if len(self.federation.servers) > SHOWN:
            table.add_row("...", "", "", f"and {len(self.federation.servers) - SHOWN} more")
        return table
