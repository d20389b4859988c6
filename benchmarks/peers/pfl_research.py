"""The same work in pfl-research: one process, or several that share the clients of a round."""

import subprocess
import sys
from argparse import Namespace

import torch
import work
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam import NNTrainHyperParams
from pfl.internal.ops import get_ops
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel


class Network(torch.nn.Module):
    """A model with the two functions that pfl-research asks for."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """What a step makes smaller."""
        return torch.nn.functional.cross_entropy(self.module(x), y)

    def metrics(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
        """Nothing: the model is tested once, after the timing."""
        return {}


class Watch(TrainingProcessCallback):
    """Notes when a round ends, and the steps of all processes."""

    def __init__(self, meter: work.Meter) -> None:
        self.meter = meter

    def after_central_iteration(
        self, aggregate_metrics: Metrics, model: PyTorchModel, *, central_iteration: int
    ) -> tuple[bool, Metrics]:
        """Never stops the training."""
        (steps,) = get_ops().distributed.all_reduce([torch.tensor([float(self.meter.steps)])])
        self.meter.mark(int(steps))
        return False, Metrics()


def main() -> None:
    """Train, measure and print; with several workers, in processes that torchrun starts."""
    asked = work.arguments(__doc__)
    if asked.workers > 1 and get_ops().distributed.world_size == 1:
        launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={asked.workers}"]
        raise SystemExit(subprocess.call([sys.executable, *launch, *sys.argv]))
    data, meter, module = work.load(asked.data), work.Meter(), work.model(asked.workload)
    run(module, data, meter, asked)
    if get_ops().distributed.global_rank == 0:
        meter.report("pfl-research", "pfl", asked, work.accuracy(module, data))
    if torch.distributed.is_initialized():  # left to the end of the interpreter, this sometimes aborts
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


def run(module: torch.nn.Module, data: work.Data, meter: work.Meter, asked: Namespace) -> None:
    """FedAvg with every client in every round."""
    network = Network(module)
    model = PyTorchModel(
        network,
        local_optimizer_create=torch.optim.SGD,
        central_optimizer=torch.optim.SGD(network.parameters(), lr=1.0),
    )
    rounds = work.WARM_UP + asked.rounds
    FederatedAveraging().run(
        algorithm_params=NNAlgorithmParams(
            central_num_iterations=rounds,
            evaluation_frequency=rounds + 1,
            train_cohort_size=work.CLIENTS,
            val_cohort_size=0,
        ),
        backend=SimulatedBackend(training_data=clients(data), val_data=clients(data)),
        model=model,
        model_train_params=NNTrainHyperParams(
            local_num_epochs=1, local_learning_rate=work.RATE, local_batch_size=work.BATCH
        ),
        callbacks=[Watch(meter)],
        send_metrics_to_platform=False,
    )


def clients(data: work.Data) -> FederatedDataset:
    """All clients in turn, each with its samples in a new order."""

    def shuffled(client: int) -> PyTorchTensorDataset:
        x, y = data.clients[client]
        order = torch.randperm(len(y))
        return PyTorchTensorDataset((x[order], y[order]))

    return FederatedDataset(shuffled, get_user_sampler("minimize_reuse", list(range(work.CLIENTS))))


if __name__ == "__main__":
    main()
