"""Charts as plain values: the page's script and matplotlib draw the same numbers from them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from asyncfeel.recording.manifest import strict


@dataclass(frozen=True)
class Line:
    """A series over x, with a band from `low` to `high` where it stands for several runs.

    `look` numbers its colour and dashes: one colour after the other, then all of them dashed; left out: its place.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    look: int | None = None


@dataclass(frozen=True)
class Lines:
    """Series over a common axis; `step` holds a value until the next one."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    step: bool = False
    percent: bool = False
    kind: str = "lines"


@dataclass(frozen=True)
class Bar:
    """One value per category."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True)
class Bars:
    """Series of bars over common categories."""

    title: str
    x_label: str
    y_label: str
    categories: Sequence[str]
    series: Sequence[Bar]
    percent: bool = False
    kind: str = "bars"


@dataclass(frozen=True)
class Heat:
    """A map of values: `values[row][column]`."""

    title: str
    x_label: str
    y_label: str
    columns: Sequence[str]
    rows: Sequence[str]
    values: Sequence[Sequence[float]]
    unit: str
    kind: str = "heat"


@dataclass(frozen=True)
class Matrices:
    """A square matrix for every frame: its (row, column, value) that differ from the identity."""

    title: str
    x_label: str
    y_label: str
    size: int
    frames: Sequence[str]
    entries: Sequence[Sequence[tuple[int, int, float]]]
    kind: str = "matrices"


@dataclass(frozen=True)
class Slice:
    """What a track does from a second to another."""

    track: int
    what: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Arrow:
    """A model on its way from a track to another."""

    source: int
    target: int
    sent_s: float
    arrived_s: float
    what: str


@dataclass(frozen=True)
class Tracks:
    """Who does what when."""

    title: str
    x_label: str
    tracks: Sequence[str]
    slices: Sequence[Slice]
    arrows: Sequence[Arrow]
    kind: str = "tracks"


@dataclass(frozen=True)
class Node:
    """A server in the drawing: where it is, from 0 to 1, and its share of the data."""

    name: str
    x: float
    y: float
    share: float


@dataclass(frozen=True)
class Link:
    """A link between two nodes, and how often it carried models."""

    source: int
    target: int
    times: int


@dataclass(frozen=True)
class Network:
    """Servers and their links."""

    title: str
    nodes: Sequence[Node]
    links: Sequence[Link]
    kind: str = "network"


Chart = Lines | Bars | Heat | Matrices | Tracks | Network


@dataclass(frozen=True)
class View:
    """One way to look at a figure: its charts, the sentence that says what they show, and footnotes."""

    label: str
    sentence: str
    charts: Sequence[Chart] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Figure:
    """A figure with one or several views to switch between."""

    slug: str
    title: str
    views: Sequence[View]
    choice: str = field(default="")
    """What the views are: a word for the switch."""


def plain(value: Any) -> Any:
    """A chart or figure as JSON knows it: what is not a number is null."""
    return strict(asdict(value))
