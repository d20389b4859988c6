"""How the training samples are divided among the clients; every public function here is one kind.

A function's keywords are the user's options, except `labels`, `owners`, `clients`, `rng` and
`min_samples`, which the run supplies. `labels` is nothing for data without classes, and
`min_samples` is the size of a mini-batch. Every sample goes to exactly one client, except under
`bootstrap`, which is for more clients than the data can be divided among.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncfeel.errors import InputError
from asyncfeel.jobs import EVERYONE

Array = npt.NDArray[Any]
TRIES = 1000
DRAWS = 50_000_000
MOST_SAMPLES = 1_000_000
DRAWN = 50


class Partition:
    """The samples of each client, as one array cut into pieces: a million clients cost no objects."""

    def __init__(self, order: Array | Callable[[], Array], offsets: npt.NDArray[np.int64]) -> None:
        """`order` may be a function that makes the array when it is first needed: a plan never needs it.

        Several workers may ask at the same time, so it must give the same array however often it is called.
        """
        self._order = order
        self.offsets = offsets
        """Where each client's samples begin, and the end of the last."""

    @property
    def order(self) -> Array:
        """All sample numbers, client by client."""
        if callable(self._order):
            self._order = self._order()
        return self._order

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of samples of each client."""
        return np.diff(self.offsets)

    def __getitem__(self, client: int) -> Array:
        if not 0 <= client < len(self):
            raise IndexError(client)
        return self.order[self.offsets[client] : self.offsets[client + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def first(self, client: int) -> int:
        """Where the samples of a client, or of all clients, begin in the order."""
        return 0 if client == EVERYONE else int(self.offsets[client])

    def rows(self, client: int) -> Array:
        """The samples of a client, or of all clients, one after the other, for EVERYONE."""
        return self.order if client == EVERYONE else self[client]


def dirichlet(
    labels: Array | None, clients: int, rng: np.random.Generator, *, alpha: float = 0.5, min_samples: int = 1
) -> Partition:
    """Each class is spread over the clients by a Dirichlet(alpha) draw; small alpha, unlike clients (A36).

    Everything is drawn again until every client has `min_samples` samples.
    """
    known = _labels("dirichlet", labels)
    _room(len(known), clients, min_samples)
    if not 0 < alpha < float("inf"):
        raise InputError(f"split 'dirichlet': alpha must be a number above 0, not {alpha}")
    counts = _dirichlet_counts(np.bincount(known), clients, rng, alpha, min_samples)
    shuffled = _by_class(known, rng)
    takers = np.repeat(np.tile(np.arange(clients), len(counts)), counts.ravel())
    return _collect(shuffled, takers, clients)


def iid(
    labels: Array | None,
    clients: int,
    rng: np.random.Generator,
    *,
    owners: Array | None = None,
    min_samples: int = 1,
) -> Partition:
    """Every client gets equally many samples (give or take one), drawn at random."""
    everything = _count("iid", labels, owners)
    _room(everything, clients, min_samples)
    takers = np.sort(np.arange(everything) % clients)
    return _collect(rng.permutation(everything), takers, clients)


def shards(
    labels: Array | None, clients: int, rng: np.random.Generator, *, per_client: int = 2, min_samples: int = 1
) -> Partition:
    """Samples sorted by class and cut into equal shards, of which each client gets `per_client`."""
    known = _labels("shards", labels)
    _room(len(known), clients, min_samples)
    if not 1 <= per_client <= len(known) // clients:
        raise InputError(
            f"split 'shards': per_client must be from 1 to {len(known) // clients} "
            f"({len(known)} samples, {clients} clients), not {per_client}"
        )
    shard = np.arange(len(known)) * (clients * per_client) // len(known)
    takers = rng.permutation(np.repeat(np.arange(clients), per_client))[shard]
    return _enough("shards", _collect(np.argsort(known, kind="stable"), takers, clients), min_samples)


def natural(owners: Array | None, clients: int, *, min_samples: int = 1) -> Partition:
    """Every client keeps the samples that are its own in the data."""
    if owners is None:
        raise InputError("split 'natural' needs data with owners, and these have none: choose dirichlet, iid or shards")
    found = int(owners.max()) + 1
    if found != clients:
        raise InputError(f"split 'natural': the data have {found} owners, not {clients}: set the clients to {found}")
    return _enough("natural", _collect(np.arange(len(owners)), owners, clients), min_samples)


def bootstrap(
    labels: Array | None,
    clients: int,
    rng: np.random.Generator,
    *,
    owners: Array | None = None,
    samples: int = DRAWN,
) -> Partition:
    """Every client draws `samples` of all samples, with replacement: clients share them, and none runs out.

    All clients have equally many samples of one common distribution, however many clients there are.
    """
    everything = _count("bootstrap", labels, owners)
    _room(everything, clients, 0)
    if not 1 <= samples <= MOST_SAMPLES:
        raise InputError(f"split 'bootstrap': samples must be from 1 to {MOST_SAMPLES}, not {samples}")
    return Partition(partial(_resampled, rng, everything, clients * samples), np.arange(clients + 1) * samples)


def _resampled(rng: np.random.Generator, everything: int, size: int) -> Array:
    """So many sample numbers, drawn with replacement, and the same ones at every call."""
    rows = copy.deepcopy(rng).integers(everything, size=size, dtype=np.int32)
    rows.flags.writeable = False
    return rows


def _dirichlet_counts(
    class_sizes: Array, clients: int, rng: np.random.Generator, alpha: float, min_samples: int
) -> Array:
    """How many samples of each class each client gets; tries are bounded in number and in work."""
    tries = max(10, min(TRIES, DRAWS // (clients * len(class_sizes))))
    for _ in range(tries):
        shares = rng.dirichlet(np.full(clients, alpha), len(class_sizes))
        cuts = (np.cumsum(shares[:, :-1], axis=1).clip(0, 1) * class_sizes[:, np.newaxis]).astype(np.int64)
        counts = np.diff(cuts, axis=1, prepend=0, append=class_sizes[:, np.newaxis])
        if counts.sum(axis=0).min() >= min_samples:
            return counts
    raise InputError(
        f"split 'dirichlet': in {tries} draws with alpha {alpha} there was always one of the {clients} clients with "
        f"fewer than {min_samples} samples: use a larger alpha, fewer clients or a smaller batch"
    )


def _by_class(labels: Array, rng: np.random.Generator) -> Array:
    """All samples, class by class, in random order within each class."""
    shuffled = rng.permutation(len(labels))
    return shuffled[np.argsort(labels[shuffled], kind="stable")]


def _collect(samples: Array, takers: Array, clients: int) -> Partition:
    """The partition in which `samples[i]` goes to client `takers[i]`."""
    order = samples[np.argsort(takers, kind="stable")].astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(takers, minlength=clients))])
    order.flags.writeable = offsets.flags.writeable = False
    return Partition(order, offsets)


def _count(kind: str, labels: Array | None, owners: Array | None) -> int:
    """How many samples there are to be spread."""
    known = labels if labels is not None else owners
    if known is None:
        raise InputError(f"split {kind!r} needs the labels or the owners of the samples")
    return len(known)


def _labels(kind: str, labels: Array | None) -> Array:
    if labels is None:
        raise InputError(f"split {kind!r} needs classes, and these data have none: choose iid or natural")
    return labels


def _room(samples: int, clients: int, min_samples: int) -> None:
    if clients < 1:
        raise InputError(f"there must be at least 1 client, not {clients}")
    if clients * min_samples > samples:
        raise InputError(
            f"{samples} training samples cannot give {min_samples} to each of {clients} clients: "
            f"use at most {samples // max(1, min_samples)} clients, a smaller batch or more data, "
            "or the split 'bootstrap'"
        )


def _enough(kind: str, partition: Partition, min_samples: int) -> Partition:
    poorest = int(partition.sizes.argmin())
    if partition.sizes[poorest] < min_samples:
        raise InputError(
            f"split {kind!r} gives client {poorest} only {partition.sizes[poorest]} samples, fewer than "
            f"{min_samples}: use a smaller batch, fewer clients or another split"
        )
    return partition
