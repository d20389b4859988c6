"""The end of a replay: models for those who hold stand-ins, and everything goes on for real."""

import gc
from typing import TYPE_CHECKING

from asyncfeel.errors import InputError

if TYPE_CHECKING:
    from asyncfeel.learning.learner import Learner
    from asyncfeel.resuming.door import Door
    from asyncfeel.resuming.files import Checkpoint
    from asyncfeel.resuming.held import Shelf
    from asyncfeel.resuming.journal import Journal


def restore(checkpoint: "Checkpoint", learner: "Learner", shelf: "Shelf", journal: "Journal", door: "Door") -> None:
    """Put the checkpoint's models where the replay has stand-ins, and hand over the jobs in flight."""
    if len(journal) != len(checkpoint.journal):
        raise InputError(
            f"the checkpoint does not fit the scenario: it has {len(checkpoint.journal)} losses and norms, "
            f"and the replay asked for {len(journal)}"
        )
    size = learner.size
    gc.collect()
    for number, held in shelf.live(shelf.count).items():
        model = checkpoint.models.get(number)
        if model is None:
            continue  # should anybody use it after all, the stand-in says so
        if model.shape != (size,):
            raise InputError(
                f"the checkpoint does not fit the scenario: a model has the shape {tuple(model.shape)} "
                f"instead of ({size},)"
            )
        held.put(model.to(learner.device))
    shelf.replaying = False
    door.go_live()
