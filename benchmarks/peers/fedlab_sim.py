"""The same work in FedLab: one process, or a server and several processes with a share of the clients each."""

import logging
import socket
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import mend  # noqa: F401, FedLab imports torchvision
import torch
import torch.multiprocessing as mp
import work
from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer
from fedlab.contrib.algorithm.basic_server import SyncServerHandler
from fedlab.core.client.manager import PassiveClientManager
from fedlab.core.network import DistNetwork
from fedlab.core.server.manager import SynchronousServerManager
from fedlab.core.standalone import StandalonePipeline

HOST = "127.0.0.1"


class Clients:
    """The data of some clients, in the form that a FedLab trainer asks for."""

    def __init__(self, parts: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
        self.parts = parts

    def get_dataloader(self, client: int, batch_size: int) -> work.Loader:
        """The batches of one client."""
        return work.Loader(*self.parts[client])


class Trainer(SGDSerialClientTrainer):
    """FedLab's own local training, which tells how many steps it has done before it hands in its models."""

    tell: Callable[[], None] = staticmethod(lambda: None)

    @property
    def uplink_package(self) -> list[Any]:
        """The models of this round."""
        self.tell()
        return super().uplink_package


class Handler(SyncServerHandler):
    """FedLab's FedAvg server, which notes when a round ends."""

    ended: Callable[[], None]

    def global_update(self, buffer: list[Any]) -> None:
        """Average, and note the time."""
        super().global_update(buffer)
        self.ended()


class Pipeline(StandalonePipeline):
    """FedLab's loop over all clients in one process, without an evaluation in each round."""

    def evaluate(self) -> None:
        """Nothing: the model is tested once, after the timing."""


def trainer(workload: str, parts: list[tuple[torch.Tensor, torch.Tensor]]) -> Trainer:
    """The local training of some clients."""
    made = Trainer(model(workload), len(parts))
    made.setup_dataset(Clients(parts))
    made.setup_optim(1, work.BATCH, work.RATE)
    return made


def model(workload: str) -> torch.nn.Module:
    """The model in torch's default layout: FedLab flattens it with `view`, which channels_last does not allow."""
    return work.model(workload, torch.contiguous_format)


def train(rank: int, asked: Namespace, port: int, counts: Any) -> None:
    """The life of a process that trains its share of the clients; it counts its steps where the server sees them."""
    quiet()
    torch.set_num_threads(asked.threads)
    meter = work.Meter()

    def tell() -> None:
        counts[rank - 1] = meter.steps

    made = trainer(asked.workload, work.load(asked.data).clients[rank - 1 :: asked.workers])
    made.tell = tell
    PassiveClientManager(DistNetwork((HOST, port), asked.workers + 1, rank), made).run()


def quiet() -> None:
    """Keep FedLab from writing a line for each message."""
    logging.disable(logging.INFO)


def main() -> None:
    """Train, measure and print."""
    quiet()
    asked = work.arguments(__doc__)
    data, meter = work.load(asked.data), work.Meter()
    handler = Handler(model(asked.workload), work.WARM_UP + asked.rounds, sample_ratio=1.0)
    if asked.workers == 1:
        handler.ended = meter.mark
        Pipeline(handler, trainer(asked.workload, data.clients)).main()
    else:
        serve(handler, asked, meter)
    meter.report("FedLab", "fedlab", asked, work.accuracy(handler.model, data))


def serve(handler: Handler, asked: Namespace, meter: work.Meter) -> None:
    """Start the processes and be their server."""
    context = mp.get_context("spawn")
    counts, port = context.Array("q", asked.workers), free_port()
    handler.ended = lambda: meter.mark(sum(counts))
    ranks = range(1, asked.workers + 1)
    processes = [context.Process(target=train, args=(rank, asked, port, counts)) for rank in ranks]
    for process in processes:
        process.start()
    SynchronousServerManager(DistNetwork((HOST, port), asked.workers + 1, 0), handler).run()
    for process in processes:
        process.join()


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
