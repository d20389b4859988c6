"""Checkpoints on disk: one safetensors file each, complete or not there at all.

The header has the state as JSON, the tensors are the models that were in use, by number, and the
journal. A digest over all of it tells a damaged file. Nothing in it is ever executed.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncfeel.errors import InputError, Unrecorded
from asyncfeel.recording.atomic import PART, settle

if TYPE_CHECKING:
    from torch import Tensor

FOLDER = "checkpoints"
FORMAT = "1"
KEPT = 2
"""Checkpoints that stay on the disk: should the newest be damaged, there is one more."""
JOURNAL, MODEL = "journal", "model."


@dataclass(frozen=True)
class State:
    """Where a run stood, in plain values."""

    ticks: int
    """Events and joins on the simulated clock."""
    time_s: float
    iteration: int
    config: Mapping[str, Any]
    """The scenario as dotted keys."""
    versions: Mapping[str, str]
    tables: Mapping[str, Sequence[Any]]
    """The size of each table in bytes, and the digest of so many bytes."""
    tested: int
    """Evaluations whose rows are in metrics.csv."""
    wall_s: float
    """Real seconds that the run had taken."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A state with its numbers and the models that were in use."""

    state: State
    journal: Sequence[float]
    models: "Mapping[int, Tensor]"


def write(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint of the run in this folder, and remove those that are older than the last two."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    home = folder / FOLDER
    tensors = {f"{MODEL}{number}": model.detach().cpu().contiguous() for number, model in checkpoint.models.items()}
    tensors[JOURNAL] = torch.tensor(checkpoint.journal, dtype=torch.float64)
    state = json.dumps(asdict(checkpoint.state))
    path = home / f"{checkpoint.state.ticks:015d}.safetensors"
    draft = path.with_name(path.name + PART)
    try:
        home.mkdir(exist_ok=True)
        save_file(tensors, draft, {"format": FORMAT, "state": state, "digest": digest(state, tensors)})
        settle(draft, path)
        for old in found(folder)[:-KEPT]:
            old.unlink()
    except (OSError, SafetensorError) as error:
        draft.unlink(missing_ok=True)
        raise Unrecorded(
            f"the checkpoint {str(path)!r} cannot be written: {error}; the one before it, if any, is kept"
        ) from error
    return path


def digest(state: str, tensors: "Mapping[str, Tensor]") -> str:
    """The SHA-256 of a state and its tensors."""
    total = hashlib.sha256(state.encode())
    for name in sorted(tensors):
        total.update(name.encode())
        total.update(tensors[name].numpy().data if tensors[name].numel() else b"")
    return total.hexdigest()


def found(folder: Path) -> list[Path]:
    """The checkpoints of a run, the oldest first."""
    return sorted((folder / FOLDER).glob("*.safetensors"))


def newest(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that is whole, if there is one, and what is wrong with newer ones."""
    damaged: list[str] = []
    for path in reversed(found(folder)):
        try:
            return read(path), damaged
        except InputError as error:
            damaged.append(str(error))
    return None, damaged


def read(path: Path) -> Checkpoint:
    """A checkpoint; an `InputError` if it is damaged or of another format."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt", device="cpu") as file:
            about = file.metadata() or {}
            if about.get("format") != FORMAT:
                there = about.get("format")
                raise InputError(
                    f"the checkpoint {str(path)!r} has format {there!r}, and this version reads {FORMAT!r}"
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dictionary)
        state = State(**json.loads(about["state"]))
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"the checkpoint {str(path)!r} is damaged: {error}") from error
    if digest(about["state"], tensors) != about.get("digest"):
        raise InputError(f"the checkpoint {str(path)!r} is damaged: its digest does not fit its content")
    journal = tensors.pop(JOURNAL).tolist() if JOURNAL in tensors else []
    return Checkpoint(state, journal, {int(name.removeprefix(MODEL)): tensor for name, tensor in tensors.items()})
