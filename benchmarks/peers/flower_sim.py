"""The same work in Flower's simulation runtime, whose clients run in actors of Ray."""

import logging
import os
import tempfile
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

import torch
import work
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation


class Watched(FedAvg):
    """Flower's FedAvg, which notes when a round ends, and the steps that the clients report."""

    def __init__(self, meter: work.Meter) -> None:
        super().__init__(
            fraction_train=1.0,
            fraction_evaluate=0.0,
            min_train_nodes=work.CLIENTS,
            min_available_nodes=work.CLIENTS,
        )
        self.meter, self.steps = meter, 0

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Average, and note the time."""
        replies = list(replies)
        averaged = super().aggregate_train(server_round, replies)
        self.steps += sum(int(reply.content["metrics"]["steps"]) for reply in replies if reply.has_content())
        self.meter.mark(self.steps)
        return averaged


class Local:
    """What one actor keeps between its clients: a module and a count."""

    def __init__(self, workload: str, data: Path, threads: int) -> None:
        torch.set_num_threads(threads)
        self.data, self.module, self.meter = work.load(data), work.model(workload), work.Meter()

    def train(self, client: int, arrays: ArrayRecord) -> tuple[ArrayRecord, int]:
        """The client's model and its steps."""
        before = self.meter.steps
        self.module.load_state_dict(arrays.to_torch_state_dict())
        work.train(self.module, *self.data.clients[client])
        return ArrayRecord(self.module.state_dict()), self.meter.steps - before


def client_app(asked: Namespace) -> ClientApp:
    """The app of all clients."""
    app = ClientApp()
    workload, data, threads = asked.workload, asked.data.resolve(), asked.threads

    @app.train()
    def train(message: Message, context: Context) -> Message:
        client = int(context.node_config["partition-id"])
        arrays, steps = work.kept(Local, workload, data, threads).train(client, message.content["arrays"])
        metrics = MetricRecord({"num-examples": work.SAMPLES, "steps": steps})
        return Message(content=RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    return app


def main() -> None:
    """Train, measure and print."""
    os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    logging.getLogger("flwr").setLevel(logging.WARNING)
    asked = work.arguments(__doc__)
    module, meter, server = work.model(asked.workload), work.Meter(), ServerApp()

    @server.main()
    def serve(grid: Grid, context: Context) -> None:
        start = ArrayRecord(module.state_dict())
        result = Watched(meter).start(grid, start, num_rounds=work.WARM_UP + asked.rounds)
        module.load_state_dict(result.arrays.to_torch_state_dict())

    with tempfile.TemporaryDirectory() as folder:
        # A Ray of its own: by default Ray joins one that runs on this machine already.
        ray = {"address": "local", "num_cpus": asked.workers, "_temp_dir": folder}
        backend = {"init_args": ray, "client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
        run_simulation(server, client_app(asked), num_supernodes=work.CLIENTS, backend_config=backend)
    meter.report("Flower", "flwr", asked, work.accuracy(module, work.load(asked.data)))


if __name__ == "__main__":
    main()
