"""The same work in fluke."""

import mend  # noqa: F401, fluke imports torchvision
import torch
import work
from fluke import FlukeENV
from fluke.algorithms import CentralizedFL
from fluke.client import Client
from fluke.config import OptimizerConfigurator
from fluke.data import FastDataLoader
from fluke.server import Server
from fluke.utils import FederationObserver


class Watch(FederationObserver):
    """Notes when a round ends."""

    def __init__(self, meter: work.Meter) -> None:
        self.meter = meter

    def end_round(self, round: int) -> None:
        """The models are averaged."""
        self.meter.mark()


def main() -> None:
    """Train, measure and print."""
    asked = work.arguments(__doc__)
    FlukeENV().set_device("cpu")
    FlukeENV().set_inmemory(True)
    FlukeENV().set_eval_cfg(pre_fit=False, post_fit=False, locals=False, server=False)
    data, meter, module = work.load(asked.data), work.Meter(), work.model(asked.workload)
    optimiser = OptimizerConfigurator({"name": "SGD", "lr": work.RATE})
    clients = [client(number, x, y, optimiser) for number, (x, y) in enumerate(data.clients)]
    server = Server(module, None, clients)
    federation = CentralizedFL(work.CLIENTS, None, {}, clients=clients, server=server)
    federation.set_callbacks(Watch(meter))
    federation.run(work.WARM_UP + asked.rounds, eligible_perc=1.0)
    meter.report("fluke", "fluke-fl", asked, work.accuracy(server.model, data))


def client(number: int, x: torch.Tensor, y: torch.Tensor, optimiser: OptimizerConfigurator) -> Client:
    """A client with its samples, read by fluke's own fast loader."""
    samples = FastDataLoader(x, y, num_labels=work.CLASSES, batch_size=work.BATCH, shuffle=True)
    return Client(number, samples, None, optimiser, torch.nn.CrossEntropyLoss(), local_epochs=1)


if __name__ == "__main__":
    main()
