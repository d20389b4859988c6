"""No training at all: every job gives back the model that it was sent.

The simulated world runs as in a real run, so this is the planner's executor; it needs no torch.
"""

from asyncfeel.jobs import Job, Ready, Update


class Stub:
    """An executor that trains nothing."""

    def submit(self, job: Job) -> Ready:
        """The job's own model, at once."""
        return Ready(Update(job.model))

    def close(self) -> None:
        """Nothing is held."""
