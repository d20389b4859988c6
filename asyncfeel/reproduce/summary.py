"""A reproduction for people: the times, the claims, and where the files are."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from asyncfeel.compare.summary import PIPED
from asyncfeel.compare.summary import show as show_comparison
from asyncfeel.reproduce import claims, markdown
from asyncfeel.reproduce.command import Reproduction


def show(console: Console, done: Reproduction) -> None:
    """Print what was found; if the runs are not all finished, the table of those that are."""
    if not done.files:
        show_comparison(console, done.found)
        return
    if not console.is_terminal:
        console = Console(file=console.file, width=PIPED)
    if done.asked.figure == "fig2":
        _claims(console, done)
    for path in done.files:
        if path.suffix not in (".pdf", ".svg"):
            console.print(str(path), soft_wrap=True, highlight=False, markup=False, emoji=False)


def _claims(console: Console, done: Reproduction) -> None:
    heads = ["H", "accuracy", "asynchronous", "synchronous", "ratio"]
    console.print(_table(heads, markdown.time_rows(done.pairs, done.found.targets)))
    console.print()
    rows = [
        [claim.words, f"{one.gap:g}", claims.word(one.held), one.why]
        for claim in claims.CLAIMS
        for one in done.verdicts[claim.name]
    ]
    console.print(_table(["the paper's claim", "H", "held", "numbers"], rows))
    console.print()


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in heads:
        table.add_column(head)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
