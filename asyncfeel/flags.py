"""The flags of the command line that `run`, `plan` and `compare` share: declared once."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup


class Commands(TyperGroup):
    """The commands, with `--debug` before or after any of them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `--debug` where the root command looks for it."""
        own = args[: args.index("--")] if "--" in args else args
        if "--debug" in own:
            args = ["--debug", *(arg for arg in own if arg != "--debug"), *args[len(own) :]]
        return super().parse_args(ctx, args)


def option(help: str, *names: str) -> Any:
    """A flag with its help text."""
    return typer.Option(*names, help=help, show_default=False)


Preset = Annotated[str | None, option("Start from quick (the default), paper or paper-small.")]
Json = Annotated[bool, option("Print the summary as one JSON object and nothing else.", "--json")]


def scenario(
    algorithm: Annotated[str | None, option("What to simulate, e.g. async-sd-feel or fedasync.")] = None,
    topology: Annotated[str | None, option("Graph of the servers: ring, grid ..., or a .json or .graphml map.")] = None,
    psi: Annotated[str | None, option("Staleness function: inverse, constant, polynomial ...")] = None,
    mixing: Annotated[str | None, option("Mixing: paper or weighted (async), optimal or metropolis (sync).")] = None,
    servers: Annotated[int | None, option("Number of edge servers.")] = None,
    clients: Annotated[int | None, option("Number of client devices.")] = None,
    heterogeneity: Annotated[float | None, option("Gap H: the fastest device over the slowest.")] = None,
    dataset: Annotated[str | None, option("Data: digits, cifar10 ..., a .npz file, or module:function.")] = None,
    data_dir: Annotated[str | None, option("Folder with data sets, or where they are downloaded to.")] = None,
    model: Annotated[str | None, option("What is trained: cnn, mlp, logistic, resnet18, or module:function.")] = None,
    until: Annotated[str | None, option("Simulated time limit: seconds, or 90s, 30m, 2h, 1d.")] = None,
    iterations: Annotated[int | None, option("Limit on the global iterations.")] = None,
    seed: Annotated[int | None, option("Names every random stream.")] = None,
    executor: Annotated[
        str | None, option("How to train: auto, batched, processes, threads, serial, ray (or stub: a plan).")
    ] = None,
    workers: Annotated[int | None, option("Jobs at once; 0: as many as there are cores.")] = None,
    device: Annotated[str | None, option("auto, cpu, cuda, cuda:N, cuda:all or mps.")] = None,
    ray_address: Annotated[str | None, option("With --executor ray: a cluster, as auto or HOST:PORT.")] = None,
    config: Annotated[Path | None, option("A scenario file (TOML); see 'asyncfeel init'.")] = None,
    preset: Preset = None,
    set_: Annotated[
        list[str] | None, option("Any key of the scenario, e.g. --set psi.a=0.5; may be repeated.", "--set")
    ] = None,
) -> None:
    """The flags that describe a scenario."""


def output(
    out: Annotated[Path | None, option("The folder to write; left out: a new one under runs/ or comparisons/.")] = None,
) -> None:
    """The flag that says where a folder is written."""


def resuming(
    resume: Annotated[
        bool, option("Go on with the run in --out, if there is one of this scenario; else start it.", "--resume")
    ] = False,
) -> None:
    """The flag for commands that are repeated until a run is finished."""


def printing(
    quiet: Annotated[bool, option("Print the path of the folder and nothing else.", "--quiet")] = False,
    json_: Json = False,
) -> None:
    """The flags that say what is printed."""


def reproduction(
    scale: Annotated[str, option("small (the default, for a laptop) or paper (ResNet-18, wants a GPU).")] = "small",
    seeds: Annotated[str | None, option("Seeds of every variant: 1..3 (the default of fig2), or 1,2,5.")] = None,
    heterogeneity: Annotated[str | None, option("Gaps H: 5,10,30 (the default of fig2); one for fig1.")] = None,
    until: Annotated[str | None, option("Simulated time limit: seconds, or 90s, 30m, 2h, 1d.")] = None,
    target: Annotated[
        list[str] | None, option("A test accuracy, e.g. 0.4: when was it reached? A list, or repeated.", "--target")
    ] = None,
    data_dir: Annotated[str | None, option("Folder with cifar10.npz, or where CIFAR-10 is downloaded to.")] = None,
    executor: Annotated[str | None, option("How to train: auto, batched, processes, threads, serial or ray.")] = None,
    workers: Annotated[int | None, option("Jobs at once; 0: as many as there are cores.")] = None,
    device: Annotated[str | None, option("auto, cpu, cuda, cuda:N, cuda:all or mps.")] = None,
    set_: Annotated[
        list[str] | None, option("Any other key of the scenario, e.g. --set psi.kind=hinge; may be repeated.", "--set")
    ] = None,
    out: Annotated[Path | None, option("The folder; left out: reproduce-FIGURE/SCALE. The same one goes on.")] = None,
    quiet: Annotated[bool, option("Print the path of the folder and nothing else.", "--quiet")] = False,
) -> None:
    """The flags of a reproduction."""


def tracking(
    log: Annotated[
        list[str] | None, option("Tell a tracker too: tensorboard, or module:function; may be repeated.", "--log")
    ] = None,
) -> None:
    """The flags that say who else follows a run."""


def replacing(
    force: Annotated[
        bool, option("Replace the run in the folder, if it is one of asyncfeel's own and has ended.", "--force")
    ] = False,
) -> None:
    """The flag that allows a run folder to be replaced."""


def taking(*groups: Callable[..., None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes `**arguments` the flags of these groups, after its own."""

    def give(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
        shared = [p for group in groups for p in inspect.signature(group).parameters.values()]
        command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
        return command

    return give
