"""A run that has ended, and its tables as plain arrays."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from asyncfeel.recording import tables

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Result:
    """A run that has ended: its folder, its summary, and its tables as plain arrays."""

    folder: Path
    summary: dict[str, Any]

    @cached_property
    def metrics(self) -> Columns:
        """Loss and accuracy of the global model over simulated time."""
        return tables.read(self.folder, "metrics")

    @cached_property
    def servers(self) -> Columns:
        """How far every server's own model is from the global one; at the end also its test loss and accuracy."""
        return tables.read(self.folder, "servers")

    @cached_property
    def iterations(self) -> Columns:
        """Every global iteration."""
        return tables.read(self.folder, "iterations")

    @cached_property
    def staleness(self) -> Columns:
        """The staleness and the weight of every server at every iteration."""
        return tables.read(self.folder, "staleness")

    @cached_property
    def mixing(self) -> Columns:
        """The entries of every mixing matrix that differ from the identity."""
        return tables.read(self.folder, "mixing")

    @cached_property
    def faults(self) -> Columns:
        """What went wrong, and when; only where something could."""
        return tables.read(self.folder, "faults")

    @cached_property
    def clients(self) -> Columns:
        """The clients: their servers, samples and speeds."""
        return tables.read(self.folder, "clients")
