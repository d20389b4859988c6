"""A run as TensorBoard shows it: event files in the run folder, on the simulated clock."""

import json
from pathlib import Path
from typing import Any

from asyncfeel.errors import InputError
from asyncfeel.recording.manifest import strict

LONG_S = 1000.0
"""From this time limit on a step is a simulated second; below it a millisecond."""
FLUSH_S = 10


class TensorBoard:
    """A tracker that writes RUN/tensorboard; steps and wall time are simulated."""

    def __init__(self) -> None:
        """An error, before anything is created, if TensorBoard is not installed."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise InputError(
                "--log tensorboard needs the package tensorboard: pip install 'asyncfeel[tensorboard]'"
            ) from error
        self._make = SummaryWriter
        self._writer: Any = None
        self._steps_per_s = 1000

    def start(self, facts: dict[str, Any]) -> None:
        """Open the file and write down what runs."""
        until_s = facts["scenario"].get("stop", {}).get("until_s")
        self._steps_per_s = 1 if until_s is not None and until_s >= LONG_S else 1000
        self._writer = self._make(str(Path(facts["folder"]) / "tensorboard"), flush_secs=FLUSH_S)
        unit = "second" if self._steps_per_s == 1 else "millisecond"
        self._text("clock", f"a step is a simulated {unit}; wall time is the simulated second")
        self._text("run", _block(facts))

    def log(self, values: dict[str, float], *, time_s: float, iteration: int) -> None:
        """Add a point to the curve of every value."""
        if self._writer:
            step = round(time_s * self._steps_per_s)
            for name, value in values.items():
                self._writer.add_scalar(name, value, step, walltime=time_s)

    def finish(self, summary: dict[str, Any]) -> None:
        """Write down what the run came to, and close the file."""
        if self._writer:
            self._text("summary", _block(summary), summary.get("time_s") or 0.0)
            self._writer.close()

    def _text(self, name: str, text: str, time_s: float = 0.0) -> None:
        if self._writer:
            step = round(time_s * self._steps_per_s)
            self._writer.add_text(name, text, step, walltime=time_s)


def _block(values: dict[str, Any]) -> str:
    """Values as indented JSON, which Markdown shows as it is."""
    lines = json.dumps(strict(values), indent=2, default=str).splitlines()
    return "\n".join(f"    {line}" for line in lines)
