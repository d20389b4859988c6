"""The same work in FLGo: one client after the other, or several in threads."""

import contextlib
import os
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

import flgo
import work
from flgo.algorithm import fedbase

HERE = Path(__file__).parent


class Server(fedbase.BasicServer):
    """FLGo's FedAvg server, which notes when a round ends."""

    meter: work.Meter

    def iterate(self) -> bool:
        """A round."""
        updated = super().iterate()
        self.meter.mark()
        return bool(updated)


class Averaging:
    """The algorithm, as FLGo looks for it."""

    Server = Server
    Client = fedbase.BasicClient


def main() -> None:
    """Train, measure and print."""
    asked = work.arguments(__doc__)
    data, meter = work.load(asked.data), work.Meter()
    Server.meter = meter
    del sys.argv[1:]  # FLGo reads the command line too
    os.environ |= {"PEERS_WORKLOAD": asked.workload, "PEERS_DATA": str(asked.data.resolve())}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(sys.stderr):
        server = flgo.init(task(), algorithm=Averaging, option=options(asked))
        server.run()
    meter.report("FLGo", "flgo", asked, work.accuracy(server.model, data))


def task() -> str:
    """The folder of the task, made below the current one, from where FLGo imports it."""
    sys.path.append(os.curdir)
    return str(flgo.gen_direct_task_from_file("task", str(HERE / "flgo_task.py")))


def options(asked: Namespace) -> dict[str, object]:
    """Every client in every round, plain SGD, and nothing beside the training."""
    return {
        "num_rounds": work.WARM_UP + asked.rounds,
        "sample": "full",
        "proportion": 1.0,
        "aggregate": "uniform",
        "num_epochs": 1,
        "batch_size": work.BATCH,
        "learning_rate": work.RATE,
        "train_holdout": 0.0,
        "eval_interval": -1,
        "no_tqdm": True,
        "no_log_console": True,
        "torch_num_threads": asked.threads,
        "num_parallels": asked.workers,
        "parallel_type": "t",
    }


if __name__ == "__main__":
    main()
