"""What keeps a run alive beyond its process: checkpoints as it goes, and the end of a replay."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from asyncfeel.errors import InputError
from asyncfeel.resuming.door import Door
from asyncfeel.resuming.saving import Saving
from asyncfeel.world.federation import Federation

if TYPE_CHECKING:
    from asyncfeel.resuming.files import Checkpoint


class Continuity:
    """Called before every event of the clock."""

    def __init__(
        self,
        federation: Federation,
        door: Door,
        saving: Saving | None,
        checkpoint: "Checkpoint | None",
        go_live: Callable[[], None],
    ) -> None:
        """Without `saving` nothing is kept; `go_live` is called where a replay reaches the checkpoint."""
        self._federation = federation
        self._door = door
        self.saving = saving
        self._go_live = go_live
        self._over = False
        self._at = None if checkpoint is None else checkpoint.state.ticks

    @property
    def replaying(self) -> bool:
        """Whether the run is still on its way to the checkpoint."""
        return self._at is not None

    def poll(self) -> None:
        """End the replay, or write a checkpoint, if it is time to."""
        clock = self._federation.clock
        self._arrive()
        self._mark()
        if self.saving and not self.replaying and self.saving.due(clock.now, self._federation.iteration):
            self.saving.save()

    def interrupted(self) -> None:
        """Write a checkpoint of the run as it was before its last, incomplete event."""
        if self.saving and not self.replaying and not self._over:
            self.saving.save()

    def ended(self) -> None:
        """Write a checkpoint of the end, if that costs little: a run with a new limit can go on from here."""
        self._arrive()
        if self.replaying:
            raise InputError("the run ends before its checkpoint: give a later --until, or more --iterations")
        self._over = True
        self._mark()
        if self.saving:
            self.saving.at_the_end()

    def _arrive(self) -> None:
        """End the replay, if it has come to the checkpoint."""
        if self._federation.clock.ticks == self._at:
            self._at = None
            self._go_live()
            if self.saving:
                self.saving.begin(self._federation.clock.now, self._federation.iteration)

    def _mark(self) -> None:
        self._door.tidy()
        if self.saving:
            self.saving.mark()
