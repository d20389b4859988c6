"""One experiment as frozen values: the sections of a scenario and what each key means.

A section is a dataclass; the metadata of a field holds its help text and its bounds. A key that
names a quantity carries its unit. Plug-in sections (`kind` and its keywords) are `Plugin` values.
The defaults are the preset `quick`, but for its time limit.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from asyncfeel.plugins import Plugin

Counted = Literal["model"]
WorkReading = Literal["paper", "literal", "physical"]
MOST_CLIENTS = 20_000_000
"""A plan of a million clients takes about 1 GB of memory."""


def option(
    default: Any,
    text: str,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    pattern: str | None = None,
) -> Any:
    """A field with its help text and its bounds."""
    metadata = {"help": text, "least": least, "above": above, "most": most, "below": below, "pattern": pattern}
    if isinstance(default, Plugin):
        return dataclasses.field(default_factory=lambda: default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Federation:
    """Who takes part."""

    servers: int | None = option(None, "edge servers (D); left out: as many as the map has, or 6", least=1)
    clients: int = option(30, "client devices (C), spread over the servers", least=1, most=MOST_CLIENTS)
    assignment: Literal["random", "sorted", "file"] = option(
        "random", "clients to clusters: random, sorted by speed, or file (the server column of speeds.path)"
    )


@dataclass(frozen=True)
class Work:
    """What one mini-batch step costs a device."""

    flops_per_step: float | Counted | WorkReading = option(
        "model",
        "FLOPs of one step: a number; model (counted); or paper (556.7 M), literal (55.67 G), physical (33.4 G), A12",
        above=0,
    )


@dataclass(frozen=True)
class Network:
    """What travels, and how fast."""

    model_bits: float | Literal["model", "paper"] = option(
        "model", "bits of one model: a number; model (parameters x 32); paper (ResNet-18: 357,566,784)", above=0
    )
    uplink_bps: float = option(20e6, "client to server", above=0)
    exchange_bps: float = option(40e6, "server to server; a link of the map may have its own rate_bps", above=0)
    downlink_bps: float | None = option(None, "server to client; left out: takes no time, as in the paper", above=0)
    cloud_bps: float | None = option(None, "server to cloud; left out: a tenth of uplink_bps", above=0)


@dataclass(frozen=True)
class Faults:
    """What goes wrong with jobs and uploads."""

    crash: float = option(0.0, "probability that a client crashes in a job: its work is lost", least=0, below=1)
    upload_failure: float = option(0.0, "probability that an attempt at an upload fails", least=0, below=1)
    upload_attempts: int = option(3, "how often an upload is tried at most, one attempt after the other", least=1)


@dataclass(frozen=True)
class Training:
    """Mini-batch SGD on the clients."""

    local_steps: int = option(
        10, "steps of one job: of a cluster's slowest client under a deadline, else of every client", least=1
    )
    batch: int = option(10, "samples per step", least=1, most=100_000)
    learning_rate: float = option(0.05, "step size (eta)", above=0)
    momentum: float = option(0.0, "momentum; its memory starts anew with each job", least=0, below=1)
    weight_decay: float = option(0.0, "L2 penalty", least=0)
    augment: bool = option(False, "flip and shift colour images at random")
    on_divergence: Literal["stop", "skip"] = option(
        "stop", "a client's result that diverged: stop the run, or skip (record it and leave it out)"
    )
    divergence_limit: float = option(
        1e6, "a result whose change has a larger norm, or none that is finite, has diverged", above=0
    )


@dataclass(frozen=True)
class Stop:
    """When training ends: at the first limit that is reached."""

    until_s: float | None = option(None, "simulated seconds", above=0)
    iterations: int | None = option(None, "global iterations (K)", least=1)
    patience: int | None = option(
        None, "stop once no client's own loss has improved for so many of its iterations (A18)", least=1
    )
    tolerance: float = option(0.0, "what counts as an improvement of a client's loss", least=0)


@dataclass(frozen=True)
class Consensus:
    """The phase after training in which the servers agree on one model (A19)."""

    rounds: int | Literal["auto"] = option("auto", "rounds of exchange; auto: until the tolerance is met", least=0)
    tolerance: float = option(
        0.01, "spread of the servers' models, as a share of the spread at the start", above=0, most=1
    )


@dataclass(frozen=True)
class Evaluation:
    """When the global model is tested; it never touches the order of events."""

    every_s: float | None = option(None, "simulated seconds between evaluations", above=0)
    every_iterations: int | None = option(None, "global iterations between evaluations", least=1)
    train_sample: int = option(2000, "training samples for the global training loss; 0: all of them", least=0)
    test_sample: int = option(0, "test samples for the test loss and accuracy; 0: all of them", least=0)


@dataclass(frozen=True)
class Checkpointing:
    """When a run is saved so that it can go on; it changes no number."""

    enabled: bool = option(True, "whether there are checkpoints at all, on Ctrl-C and SIGTERM too")
    every_minutes: float | None = option(
        None, "real minutes between checkpoints; left out: as often as takes at most 1 % of the time", above=0
    )
    every_s: float | None = option(None, "simulated seconds between checkpoints", above=0)
    every_iterations: int | None = option(None, "global iterations between checkpoints", least=1)


@dataclass(frozen=True)
class Execution:
    """How the real training is done; it changes no simulated number."""

    executor: str = option(
        "auto", "auto (the fastest here), batched, processes, threads, serial, ray, or stub (no training)"
    )
    workers: int = option(0, "jobs at once; 0: as many as there are cores", least=0, most=4096)
    device: str = option(
        "auto",
        "auto, cpu, cuda, cuda:N, cuda:all (workers in turn) or mps",
        pattern=r"auto|cpu|cuda(:[0-9]+|:all)?|mps",
    )
    ray_address: str | None = option(
        None, "executor ray: auto or HOST:PORT of a cluster that this machine is part of; left out: a local one"
    )
    timeout_s: float | None = option(
        None, "real seconds that one result may take; then it is tried again, and then the run ends", above=0
    )
    compile: bool = option(
        False, "compile the model of each worker with torch.compile (not batched); takes a while at the start"
    )
    quick: bool = option(
        True,
        "on a CPU, the fastest way to values and gradients of layers (not batched); false: torch's own",
    )


@dataclass(frozen=True)
class Scenario:
    """One experiment, complete: running it again repeats it."""

    seed: int = option(1, "names every random stream", least=0)
    data_dir: str = option("data", "folder with data sets, or where they are downloaded to")
    algorithm: Plugin = option(Plugin("async-sd-feel"), "the training algorithm")
    psi: Plugin = option(Plugin("inverse"), "staleness function")
    topology: Plugin = option(Plugin("ring"), "graph of the edge servers: a name, or a .graphml or .json map")
    federation: Federation = option(Federation(), "who takes part")
    speeds: Plugin = option(Plugin("uniform", {"heterogeneity": 10.0}), "FLOPS of the clients")
    drift: Plugin = option(Plugin("none"), "how the devices' speeds change over time")
    fading: Plugin = option(Plugin("none"), "how the uplink rates change over time")
    work: Work = option(Work(), "what one mini-batch step costs")
    network: Network = option(Network(), "what travels, and how fast")
    availability: Plugin = option(Plugin("always"), "when the clients are there")
    server_outages: Plugin = option(Plugin("none"), "when the servers are down")
    link_outages: Plugin = option(Plugin("none"), "when the links between servers are down")
    faults: Faults = option(Faults(), "what goes wrong with jobs and uploads")
    dataset: Plugin = option(Plugin("digits"), "data: a name, a .npz file, or module:function")
    split: Plugin = option(Plugin("auto"), "data over clients; auto: the data's own clients, dirichlet, or bootstrap")
    model: Plugin = option(Plugin("auto"), "what is trained; auto: cnn for images, logistic for features")
    training: Training = option(Training(), "mini-batch SGD on the clients")
    stop: Stop = option(Stop(), "when training ends: at the first limit that is reached")
    consensus: Consensus = option(Consensus(), "how the servers agree at the end")
    evaluation: Evaluation = option(Evaluation(), "when the global model is tested; left out: fifty times")
    checkpoint: Checkpointing = option(Checkpointing(), "when a run is saved so that it can go on")
    execution: Execution = option(Execution(), "how the real training is done; changes no simulated number")

    @staticmethod
    def load(
        preset: str | None = None, config: str | Path | None = None, set: Mapping[str, Any] | None = None, **flags: Any
    ) -> "Scenario":
        """A scenario from a preset, a TOML file, dotted keys, and the short flags of the command line.

        Later ones win, in this order.

        >>> Scenario.load("paper", psi="hinge", set={"psi.a": 5}).psi.kind
        'hinge'
        """
        from asyncfeel.scenario.build import load

        return load(preset, None if config is None else Path(config), set or {}, flags)

    def replace(self, set: Mapping[str, Any] | None = None, **flags: Any) -> "Scenario":
        """The same scenario with some keys changed."""
        from asyncfeel.scenario.build import replace

        return replace(self, set or {}, flags)
