"""Runs a comparison: one run after the other, each of them free to fail, nothing done twice."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncfeel.compare import folder as folders
from asyncfeel.compare import table
from asyncfeel.compare.outcome import Outcome, of_folder
from asyncfeel.compare.progress import Silent, View
from asyncfeel.compare.request import Request, Run
from asyncfeel.compare.table import Row
from asyncfeel.errors import AsyncFeelError, Interrupted
from asyncfeel.simulation import run as simulate


@dataclass(frozen=True)
class Comparison:
    """A comparison that has ended: its folder, a row for each run and a row for each variant."""

    folder: Path
    targets: tuple[float, ...]
    runs: list[Row]
    variants: list[Row]

    def count(self, status: str) -> int:
        """How many runs ended so."""
        return sum(row["status"] == status for row in self.runs)

    @property
    def status(self) -> str:
        """What became of it as a whole: finished, failed (some run did), or interrupted."""
        if self.count("waiting") + self.count("interrupted"):
            return "interrupted"
        return "failed" if self.count("failed") else "finished"

    def summary(self) -> dict[str, Any]:
        """Everything as one table, for JSON."""
        facts = {"folder": str(self.folder), "status": self.status, "targets": list(self.targets)}
        return facts | {"variants": self.variants, "runs": self.runs}


def compare(
    request: Request,
    out: str | Path | None = None,
    *,
    view: View | None = None,
    stop: threading.Event | None = None,
) -> Comparison:
    """Run what is not finished yet, and give the table of all.

    A run that fails is recorded with its message and the others go on. Setting `stop` ends the
    comparison early and cleanly; the same call goes on where it ended.
    """
    request.check()
    folder = folders.create(None if out is None else Path(out), request)
    return Runner(request, folder, view or Silent(), stop or threading.Event()).run()


class Runner:
    """One pass over the runs of a comparison, with its tables up to date after each of them."""

    def __init__(self, request: Request, folder: Path, view: View, stop: threading.Event) -> None:
        self._request = request
        self._folder = folder
        self._view = view
        self._stop = stop
        self._outcomes: dict[str, Outcome] = {run.name: self._found(run) for run in request.runs}

    def run(self) -> Comparison:
        """Run to the end, or until told to stop."""
        self._write()
        self._view.start(self._folder, self._request, list(self._outcomes.values()))
        try:
            for run in self._request.runs:
                if self._outcomes[run.name].status != "finished" and not self._stop.is_set():
                    self._outcomes[run.name] = outcome = self._attempt(run)
                    self._write()
                    self._view.end(outcome)
        finally:
            self._view.finish()
        return self._write()

    def _found(self, run: Run) -> Outcome:
        """What an earlier pass left of a run: its outcome, or that it waits."""
        path = self._path(run)
        if not folders.is_finished(run, path):
            return Outcome(run, "waiting")
        return self._read(run, path)

    def _attempt(self, run: Run) -> Outcome:
        path = self._path(run)
        view = self._view.begin(run)
        try:
            folders.clear(path)
            result = simulate(run.scenario, path, view=view, stop=self._stop)
        except Interrupted:
            return Outcome(run, "interrupted")
        except Exception as error:
            return Outcome(run, "failed", message(error))
        return Outcome(run, "interrupted") if result.summary["status"] != "finished" else self._read(run, path)

    def _read(self, run: Run, path: Path) -> Outcome:
        try:
            return of_folder(run, path, self._request.targets)
        except (AsyncFeelError, OSError, ValueError) as error:
            return Outcome(run, "failed", message(error))

    def _path(self, run: Run) -> Path:
        return self._folder / "runs" / run.name

    def _write(self) -> Comparison:
        outcomes, targets = list(self._outcomes.values()), self._request.targets
        found = Comparison(
            self._folder, tuple(targets), table.of_runs(outcomes, targets), table.of_variants(outcomes, targets)
        )
        folders.write_table(self._folder / "comparison.csv", found.runs)
        folders.write_table(self._folder / "table.csv", found.variants)
        return found


def message(error: Exception) -> str:
    """An error in one line; one that is not asyncfeel's own with its type."""
    said = " ".join(str(error).split())
    return said if isinstance(error, AsyncFeelError) else f"{type(error).__name__}: {said}".removesuffix(": ")
