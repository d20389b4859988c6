"""Whether stacked models really learn what single ones learn: a model is tried before it is trusted.

Layers can be looked at, but not what a model's own code does between them. Code that mixes the
samples of a batch would mix those of other models in a stack.
"""

from typing import TYPE_CHECKING

import torch

from asyncfeel.jobs import Job

if TYPE_CHECKING:
    from asyncfeel.learning.learner import Learner
    from asyncfeel.learning.local import Trainer

RATE = 0.05
STEPS = 2
RELATIVE, ABSOLUTE = 1e-2, 1e-5


def disagreement(learner: "Learner", trainer: "Trainer") -> str | None:
    """Why the stacked form of a model cannot be trusted; nothing if two models learn alike in it and alone."""
    start = learner.initial()
    rate = RATE / learner.feed.training.learning_rate
    jobs = [Job(0, number, model, STEPS, rate=rate) for number, model in enumerate([start, start * 1.01])]
    try:
        alone = torch.stack([trainer.train(job).model for job in jobs])
        together = _together(learner, jobs)
    except (RuntimeError, ValueError, TypeError) as error:
        return f"it could not be tried in a stack ({str(error).partition(chr(10))[0]})"
    moved = torch.linalg.vector_norm(alone - start)
    apart = torch.linalg.vector_norm(alone - together)
    if not bool(apart <= RELATIVE * moved + ABSOLUTE * torch.linalg.vector_norm(start)):
        return "its own code treats the samples of a batch together"
    return None


def _together(learner: "Learner", jobs: list[Job]) -> torch.Tensor:
    stack, feed = learner.stack(), learner.feed
    stack.reserve(len(jobs))
    for place, job in enumerate(jobs):
        stack.load(place, 1, job.model, [job.rate], [job.proximal])
    stack.focus(len(jobs))
    rows = torch.stack([feed.rows(job) for job in jobs], dim=1)
    moves = [some for job in jobs if (some := feed.moves(job)) is not None]
    for step in range(STEPS):
        stack.descend(*feed.gather(rows[step], torch.stack(moves, dim=1)[step] if moves else None))
    return torch.stack([stack.read(place) for place in range(len(jobs))])
