"""The learning task of one run: data on the device, the model's shape, and who may train and evaluate.

Everything that is expensive and the same for all workers is made here once; what must not be
shared, a module, is copied for each trainer.
"""

import copy
import dataclasses
import math
import threading
from collections.abc import Callable, Sequence
from functools import cached_property

import torch
from torch import Tensor, nn

from asyncfeel.errors import InputError
from asyncfeel.learning import losses, samples
from asyncfeel.learning.cost import BITS, count_flops, count_parameters
from asyncfeel.learning.datasets.values import Dataset
from asyncfeel.learning.evaluation import Evaluator
from asyncfeel.learning.feed import Feed
from asyncfeel.learning.flat import FlatModule
from asyncfeel.learning.intraop import one_thread
from asyncfeel.learning.local import Trainer
from asyncfeel.learning.metrics import Metrics
from asyncfeel.learning.partition import Partition
from asyncfeel.learning.quick import quicken
from asyncfeel.learning.settings import Training
from asyncfeel.learning.stacked.agreement import disagreement
from asyncfeel.learning.stacked.stack import Stack, reason
from asyncfeel.learning.written import Chain, Layers, chain, unrolled
from asyncfeel.streams import key, stream

Shape = tuple[int, ...]
ModelMaker = Callable[[Shape, int], nn.Module]
COLOURS = 3


class Learner:
    """A data set, its partition and a model, ready to be trained and evaluated on one device."""

    def __init__(
        self,
        dataset: Dataset,
        partition: Partition,
        model: ModelMaker,
        training: Training,
        seed: int,
        device: torch.device,
        train_sample: int = 2000,
        test_sample: int = 0,
        devices: Sequence[torch.device] = (),
        compiled: bool = False,
        quick: bool = True,
    ) -> None:
        """Models live on `device`; workers are spread over `devices`, which are that one if none are given.

        With `compiled`, every trainer compiles its model with torch.compile before its first step. Otherwise, with
        `quick`, models on a CPU take quicker ways to what their layers compute.
        """
        if training.augment and dataset.shape[2:] != (COLOURS,):
            raise InputError("augment is for colour images, and these samples are none: leave it out")
        self.device = device
        self.devices = list(devices) or [device]
        self._compiled = compiled
        self._quick = quick and not compiled
        self._dataset = dataset
        self._partition = partition
        self._training = training
        self._seed = seed
        self._template = build(dataset, model, seed)
        self._loss = losses.of(dataset, device)
        self._layers = self._unrolled() if self._quick and self._loss is losses.CROSS_ENTROPY else None
        self._plain = dataset.is_image and _needs_plain(self._template, dataset)
        self._train, self._test = samples.of(dataset, device, self._plain)
        self.feed = Feed(self._train, partition, training, seed)
        self._copies = {one: self._on(one) for one in self.devices}
        self._train_rows = self._sampled("train", len(self._train), train_sample)
        self._test_rows = self._sampled("test", len(self._test), test_sample)
        self._evaluator = Evaluator(self._module(device), self._loss)

    def initial(self) -> Tensor:
        """The model at the start, which depends on the seed and on nothing else."""
        return self._module(self.device).read()

    def trainer(self, stop: threading.Event, worker: int = 0) -> Trainer:
        """A new trainer, for one worker, on its device; it gives up when `stop` is set."""
        device = self.devices[worker % len(self.devices)]
        model = self._module(device)
        return Trainer(model, *self._copies[device], stop, self._compiled, self._written(model, device))

    def _written(self, model: FlatModule, device: torch.device) -> Chain | None:
        """The same model with its gradients written out, where that is quicker and can be done."""
        return None if self._layers is None or device.type != "cpu" else chain(model.module, self._layers)

    def _on(self, device: torch.device) -> tuple[Feed, losses.Loss]:
        """Data and loss on a device."""
        if device == self.device:
            return self.feed, self._loss
        return dataclasses.replace(self.feed, samples=self._train.to(device)), losses.of(self._dataset, device)

    def stack(self) -> Stack:
        """A new stack of models that are trained together, for one worker; `unstackable` must be nothing."""
        return Stack(self._template, self._loss, self._training, self.device, self._plain)

    @cached_property
    def unstackable(self) -> str | None:
        """Why models of this kind cannot be trained in a stack; nothing if they can."""
        if self._compiled:
            return "it is to be compiled (execution.compile)"
        found = reason(self._template)
        if found is None:
            with one_thread():
                found = disagreement(self, self.trainer(threading.Event()))
        return found

    def evaluate(self, flat: Tensor, stop: threading.Event | None = None) -> Metrics:
        """How good a model is; may be called from any thread, and gives up when `stop` is set."""
        train_loss, _ = self._evaluator.assess(flat, self._train, self._train_rows, stop)
        test_loss, accuracy = self._evaluator.assess(flat, self._test, self._test_rows, stop)
        return Metrics(train_loss, test_loss, accuracy if self._dataset.loss == "cross-entropy" else math.nan)

    def client_loss(self, client: int, flat: Tensor) -> float:
        """The mean loss of a model over all samples of one client."""
        rows = torch.from_numpy(self._partition[client].copy()).to(self.device)
        return self._evaluator.assess(flat, self._train, rows)[0]

    @property
    def size(self) -> int:
        """The entries of a model's vector."""
        return len(self._evaluator.model.vector)

    @property
    def model_bits(self) -> int:
        """The size of a model on the air: 32 bits for each parameter."""
        return BITS * count_parameters(self._template)

    @cached_property
    def flops_per_step(self) -> int:
        """The work of one mini-batch step, counted by torch."""
        cpu = torch.device("cpu")
        module = copy.deepcopy(self._template)
        return count_flops(module, input_shape(self._dataset), self._training.batch, losses.of(self._dataset, cpu))

    @property
    def convolves(self) -> bool:
        """Whether the model has convolutions."""
        return any(isinstance(part, nn.modules.conv._ConvNd) for part in self._template.modules())

    def export(self, flat: Tensor) -> dict[str, Tensor]:
        """A model under the names of its module's state_dict, on the CPU."""
        return {name: tensor.cpu() for name, tensor in self._evaluator.model.named(flat).items()}

    def norm(self, flat: Tensor) -> float:
        """The Euclidean norm of a model or of a difference of models."""
        return float(torch.linalg.vector_norm(flat))

    def trained_norm(self, flat: Tensor) -> float:
        """The Euclidean norm over the trained entries alone."""
        return float(torch.linalg.vector_norm(flat[: self._evaluator.model.trainable]))

    def _module(self, device: torch.device) -> FlatModule:
        module = copy.deepcopy(self._template)
        return FlatModule(quicken(module) if self._quick and device.type == "cpu" else module, device, self._plain)

    def _unrolled(self) -> Layers | None:
        """The layers that the model applies one after another, if that is what it does."""
        shape = (2, *input_shape(self._dataset))
        return unrolled(self._template, torch.linspace(-1, 1, math.prod(shape)).view(shape))

    def _sampled(self, which: str, there: int, size: int) -> Tensor | None:
        """The fixed rows on which a loss is measured; nothing means all."""
        if size < 0:
            raise InputError(f"{which}_sample must be at least 0 (0 for all samples), not {size}")
        if size == 0 or size >= there:
            return None
        rows = stream(self._seed, f"{which}-sample").choice(there, size, replace=False)
        return torch.from_numpy(rows).sort().values.to(self.device)


def input_shape(dataset: Dataset) -> Shape:
    """The shape of one sample as a model takes it: channels first."""
    return (dataset.shape[2], *dataset.shape[:2]) if dataset.is_image else dataset.shape


def _needs_plain(module: nn.Module, dataset: Dataset) -> bool:
    """Whether the model's own code is only for images as torch lays them: `view` refuses channels that lie last."""
    height, width, channels = dataset.shape
    images = torch.zeros(2, height, width, channels).permute(0, 3, 1, 2)
    try:
        with torch.no_grad():
            FlatModule(copy.deepcopy(module)).module(images)
    except RuntimeError:
        return True
    return False


def build(dataset: Dataset, model: ModelMaker, seed: int) -> nn.Module:
    """The model with its first weights, from a random stream of its own; torch's own stays untouched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key(seed, "model") % 2**63)
        module = model(dataset.shape, dataset.classes)
    _check(module, dataset)
    return module


def _check(module: nn.Module, dataset: Dataset) -> None:
    """An error if the model does not fit the data, before anything is simulated."""
    residual = bool(getattr(module, "residual", False))
    if residual != (dataset.loss == "half-square"):
        wanted = "point" if dataset.loss == "half-square" else "logistic, mlp, cnn or resnet18"
        raise InputError(f"the model does not fit {dataset.source}, whose loss is {dataset.loss}: choose {wanted}")
    try:
        with torch.no_grad():
            outputs = copy.deepcopy(module).eval()(torch.zeros(2, *input_shape(dataset)))
    except RuntimeError as error:
        raise InputError(f"the model cannot take samples of the shape {input_shape(dataset)}: {error}") from error
    if tuple(outputs.shape) != (2, dataset.classes):
        raise InputError(
            f"the model gives {tuple(outputs.shape[1:])} outputs per sample instead of ({dataset.classes},)"
        )
