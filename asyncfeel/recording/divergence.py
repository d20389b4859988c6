"""divergence.csv: the results that diverged; a run that has none has no such file."""

from dataclasses import astuple

from asyncfeel.recording.folder import RunFolder
from asyncfeel.world.divergence import Case, Divergence, Report


class DivergenceRows:
    """Writes a row for each result that was not used."""

    def __init__(self, folder: RunFolder, divergence: Divergence | None) -> None:
        """Without `divergence` nothing is trained, and nothing diverges."""
        self._folder = folder
        self._divergence = divergence
        if divergence:
            divergence.listeners.append(self.add)

    @property
    def count(self) -> int:
        """How many results were not used."""
        return self._divergence.count if self._divergence else 0

    def watching(self, report: Report) -> Report:
        """The report of evaluations, which also stops the run where the global model has diverged."""
        return self._divergence.watching(report) if self._divergence else report

    def add(self, case: Case) -> None:
        """Append a row; the first one makes the file."""
        self._folder.rare("divergence").write([astuple(case)])
