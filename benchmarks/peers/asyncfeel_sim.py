"""The same work in asyncfeel: its FedAvg, with every client in every round."""

import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import work

from asyncfeel import Dataset, Scenario, run
from asyncfeel.progress import Silent


class Watch(Silent):
    """Notes when a round ends, and the steps of the clients."""

    def __init__(self, meter: work.Meter) -> None:
        self.meter, self.steps = meter, 0

    def completed(self, federation: Any, completion: Any) -> None:
        """The models are averaged."""
        self.steps += sum(trigger.total_steps for trigger in completion.triggers)
        self.meter.mark(self.steps)


def clients(*, file: str) -> Dataset:
    """The data set: the samples of the clients, with their owners, and the test."""
    with np.load(file) as archive:
        arrays = dict(archive)
    parts = work.partition(len(arrays["y_train"]))
    rows = np.concatenate(parts)
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return Dataset(arrays | {name: arrays[name][rows] for name in ("x_train", "y_train")}, owners)


def scenario(asked: Namespace) -> Scenario:
    """The work as a scenario; `asyncfeel run` with these flags and keys does the same."""
    rounds = work.WARM_UP + asked.rounds
    return Scenario.load(
        algorithm="fedavg",
        clients=work.CLIENTS,
        dataset="asyncfeel_sim:clients",
        model=f"work:{work.MODELS[asked.workload].__name__}",
        iterations=rounds,
        workers=asked.workers,
        device="cpu",
        **({"executor": asked.executor} if asked.executor else {}),
        set={
            "dataset.file": str(asked.data.resolve()),
            "split.kind": "natural",
            "stop.until_s": None,
            "training.local_steps": work.STEPS,
            "training.batch": work.BATCH,
            "training.learning_rate": work.RATE,
            "evaluation.every_iterations": rounds,
        },
    )


def main() -> None:
    """Train, measure and print."""
    asked, meter = work.arguments(__doc__, "executor"), work.Meter()
    with tempfile.TemporaryDirectory() as folder:
        result = run(scenario(asked), Path(folder, "run"), view=Watch(meter))
    summary = result.summary
    if summary["steps"] != meter.timed_steps + work.WARM_UP * work.CLIENTS * work.STEPS:
        raise SystemExit(f"the run counts {summary['steps']} steps, the rounds {meter.timed_steps}")
    meter.report("asyncfeel", "asyncfeel", asked, summary["metrics"]["test_accuracy"])


if __name__ == "__main__":
    main()
