"""A comparison's table for people: how soon and how good, and at what cost."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from asyncfeel.compare.runner import Comparison
from asyncfeel.compare.table import Row
from asyncfeel.units import duration

PIPED = 200
"""The width of a table that no terminal bounds."""
WIDEST = 40
"""How wide the names of the variants may be before they are folded."""

Cell = Callable[[Row], str]
Column = tuple[str, list[str]]


def show(console: Console, found: Comparison) -> None:
    """Print the table, in as many parts as the terminal needs, then what went wrong, and the folder."""
    if not console.is_terminal:
        console = Console(file=console.file, width=PIPED)
    names = [row["variant"] for row in found.variants]
    for part in packed(names, _filled(found), console.width):
        console.print(_table(names, part))
        console.print()
    for line in failures(found):
        _plain(console, line)
    _plain(console, str(found.folder))


def failures(found: Comparison) -> Iterator[str]:
    """A line for each variant that failed and each reason, with the seeds."""
    seeds: dict[tuple[str, str], list[str]] = {}
    for row in found.runs:
        if row["status"] == "failed":
            seeds.setdefault((row["variant"], row["message"]), []).append(str(row["seed"]))
    for (variant, message), failed in seeds.items():
        yield f"failed: {variant}, seed{'s' if len(failed) > 1 else ''} {', '.join(failed)}: {message}"


def packed(names: Sequence[str], columns: Sequence[Column], width: int) -> list[list[Column]]:
    """The columns in tables that are no wider than this, each of them beside the names.

    >>> [[title for title, _ in part] for part in packed(["a"], [("one", ["1"]), ("two", ["2"])], 15)]
    [['one'], ['two']]
    """
    beside = min(WIDEST, max(map(len, ["variant", *names])))
    parts: list[list[Column]] = [[]]
    left = width - beside
    for title, cells in columns:
        needed = 2 + max(map(len, [title, *cells]))
        if parts[-1] and needed > left:
            parts.append([])
            left = width - beside
        parts[-1].append((title, cells))
        left -= needed
    return parts


def _filled(found: Comparison) -> list[Column]:
    """The columns that have anything to say."""
    columns = [(title, [cell(row) for row in found.variants]) for title, cell in _columns(found.targets)]
    return [(title, cells) for title, cells in columns if any(cells)]


def _table(names: Sequence[str], columns: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("variant", overflow="fold", min_width=min(WIDEST, max(map(len, names))), max_width=WIDEST)
    for title, _ in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for name, *cells in zip(names, *(cells for _, cells in columns), strict=True):
        table.add_row(Text(name), *cells)
    return table


def _plain(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True, highlight=False, markup=False, emoji=False)


def _columns(targets: Sequence[float]) -> list[tuple[str, Cell]]:
    return [
        ("runs", lambda row: f"{row['finished']}/{row['runs']}"),
        ("paired", lambda row: str(row["paired"])),
        *((f"time to {target} (reached)", _target(target)) for target in targets),
        ("final accuracy", lambda row: _with_spread(row, "final_accuracy", lambda value: f"{value:.2%}")),
        ("best", lambda row: _number(row["best_accuracy_mean"], lambda value: f"{value:.2%}")),
        ("iterations", lambda row: _number(row["iterations_mean"], _count)),
        ("steps", lambda row: _number(row["steps_mean"], _count)),
        *((link, _link(link)) for link in ("uplink", "exchange", "cloud", "downlink")),
        ("staleness (max)", _staleness),
        ("idle", lambda row: _number(row["idle_share_mean"], lambda value: f"{value:z.1%}")),
    ]


def _target(target: float) -> Cell:
    def cell(row: Row) -> str:
        """The time and, of the runs that are finished, how many reached the target; no accuracy, no answer."""
        if row["final_accuracy_mean"] is None:
            return ""
        time = _with_spread(row, f"time_to_{target}_s", duration) or "never"
        return f"{time} ({row[f'reached_{target}']}/{row['finished']})"

    return cell


def _staleness(row: Row) -> str:
    mean = _number(row["staleness_mean"], lambda value: f"{value:.2f}")
    return mean and f"{mean} ({row['staleness_max']:.0f})"


def _link(link: str) -> Cell:
    return lambda row: _number(row[f"{link}_bytes_mean"], volume)


def _with_spread(row: Row, name: str, say: Callable[[float], str]) -> str:
    mean, std = _number(row[f"{name}_mean"], say), _number(row[f"{name}_std"], say)
    return f"{mean} ± {std}" if std else mean


def _number(value: Any, say: Callable[[float], str]) -> str:
    return "" if value is None else say(value)


def _count(value: float) -> str:
    return f"{value:,.0f}"


def volume(size: float) -> str:
    """A number of bytes for people, in powers of 1000.

    >>> volume(999), volume(1234567), volume(62e6), volume(5e12)
    ('999 B', '1.23 MB', '62.0 MB', '5.00 TB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.{0 if unit == 'B' or size >= 100 else 1 if size >= 10 else 2}f} {unit}"
        size /= 1000
    return f"{size:,.2f} TB"
