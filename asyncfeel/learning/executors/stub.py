"""No training at all: every job gives back the model that it was sent.

The simulated world runs as in a real run, so this is the planner's executor; it needs no torch.
"""

from asyncfeel.jobs import Broadcast, Gathered, Job, Ready, Update


class Stub:
    """An executor that trains nothing."""

    def submit(self, job: Job) -> Ready[Update]:
        """The job's own model, at once."""
        return Ready(Update(job.model))

    def broadcast(self, work: Broadcast) -> Ready[Gathered]:
        """No change at all, without a look at any client."""
        return Ready(Gathered(work.model - work.model))

    def close(self) -> None:
        """Nothing is held."""
