"""Whoever follows a run as it goes: the view on the screen and the trackers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asyncfeel.evaluation import Measurement
from asyncfeel.progress import View
from asyncfeel.scenario import Scenario
from asyncfeel.tracking import Trackers
from asyncfeel.world.federation import Federation
from asyncfeel.world.records import Completion


class Audience:
    """Tells view and trackers what happens; what they heard in an earlier life of the run they do not hear again."""

    def __init__(self, view: View, trackers: Trackers) -> None:
        self._view = view
        self._trackers = trackers
        self._listening = False

    def begin(self, scenario: Scenario, federation: Federation, folder: Path, told: dict[str, Any]) -> None:
        """The run begins, or goes on."""
        self._listening = True
        self._view.start(scenario, federation, folder)
        self._trackers.start(told)

    def changing(self, federation: Federation) -> None:
        """The models are about to change."""
        if self._listening:
            self._view.changing(federation)

    def completed(self, federation: Federation, completion: Completion) -> None:
        """An iteration is complete."""
        if self._listening:
            self._view.completed(federation, completion)
            self._trackers.completed(federation, completion)

    def measured(self, measurement: Measurement, distances: Sequence[float]) -> None:
        """The global model was tested."""
        if self._listening:
            self._view.measured(measurement)
            self._trackers.measured(measurement, distances)

    @contextmanager
    def leaving(self, summary: dict[str, Any], failed: bool) -> Iterator[None]:
        """The run is over, for whatever reason; they are told so after what is done here, even if that fails."""
        try:
            yield
        except BaseException:
            failed = True
            raise
        finally:
            self._view.finish()
            self._trackers.finish(summary, failed)
