"""One run of a comparison in numbers, read from its folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from asyncfeel.compare.request import Run
from asyncfeel.recording import manifest, tables

Status = Literal["waiting", "finished", "interrupted", "failed"]
LINKS = ("uplink_bytes", "exchange_bytes", "cloud_bytes", "downlink_bytes")


@dataclass(frozen=True)
class Outcome:
    """How a run ended; its numbers are there once it is finished, None where it has no such number."""

    run: Run
    status: Status
    message: str = ""
    numbers: Mapping[str, float | None] = field(default_factory=dict)
    schedule: str = ""


def time_to(target: float) -> str:
    """The name of the number that says when a target was reached.

    >>> time_to(0.9)
    'time_to_0.9_s'
    """
    return f"time_to_{target}_s"


def names(targets: Sequence[float]) -> list[str]:
    """The numbers of a run, in the order of the columns."""
    quality = [*map(time_to, targets), "final_accuracy", "best_accuracy"]
    return ["iterations", "simulated_s", *quality, *LINKS, "staleness_mean", "staleness_max", "idle_share", "steps"]


def of_folder(run: Run, folder: Path, targets: Sequence[float]) -> Outcome:
    """The outcome of a finished run; without any iteration it has no schedule that another could share."""
    found = manifest.read(folder)
    metrics = tables.read(folder, "metrics") if (folder / "metrics.csv").is_file() else {}
    staleness = tables.read(folder, "iterations")["staleness"]
    traffic = found.get("traffic") or {}
    numbers: dict[str, Any] = {
        "iterations": found.get("iterations"),
        "simulated_s": found.get("time_s"),
        **{time_to(target): first_s(metrics, target) for target in targets},
        "final_accuracy": (found.get("metrics") or {}).get("test_accuracy"),
        "best_accuracy": found.get("best_accuracy"),
        **{link: traffic.get(link) for link in LINKS},
        "staleness_mean": float(staleness.mean()) if len(staleness) else None,
        "staleness_max": int(staleness.max()) if len(staleness) else None,
        "idle_share": found.get("idle_share"),
        "steps": found.get("steps"),
    }
    schedule = found.get("digests", {}).get("schedule", "") if len(staleness) else ""
    return Outcome(run, "finished", numbers=numbers, schedule=schedule)


def first_s(metrics: Mapping[str, NDArray[Any]], target: float) -> float | None:
    """The simulated second of the first evaluation that reached the target; None if none did.

    >>> import numpy as np
    >>> first_s({"time_s": np.array([0.0, 1.0, 2.0]), "test_accuracy": np.array([0.1, 0.6, 0.5])}, 0.5)
    1.0
    """
    if not metrics:
        return None
    reached_s = metrics["time_s"][metrics["test_accuracy"] >= target]
    return float(reached_s[0]) if len(reached_s) else None
