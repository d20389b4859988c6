"""A verdict for people: what was checked, how much of it, and the first differences."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from asyncfeel.verify.findings import Check, Verdict

PIPED = 200
"""The width of a table that no terminal bounds."""


def show(console: Console, verdict: Verdict) -> None:
    """Print the table, the differences, and the verdict with the folder."""
    if not console.is_terminal:
        console = Console(file=console.file, width=PIPED)
    if not verdict.checks:
        return  # what there is to say is an error
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("check", "checked", "", "outcome", "note"):
        table.add_column(name, justify="right" if name == "checked" else "left")
    for check in verdict.checks:
        counted = ("", "") if check.skipped else (f"{check.rows:,}", check.unit)
        table.add_row(check.name, *counted, _outcome(check), Text(check.note))
    console.print(table)
    for check in verdict.checks:
        for difference in check.differences:
            console.print(Text(f"  {difference}"), soft_wrap=True)
    words = {0: "verified", 1: "DIFFERS", 2: "not verified"}
    about = f" ({verdict.about})" if verdict.about else ""
    console.print(Text(f"{words[verdict.code]}: {verdict.folder}{about}"), soft_wrap=True)


def _outcome(check: Check) -> Text:
    if not check.ok:
        return Text("differs", style="red")
    return Text("not checked", style="yellow") if check.skipped else Text("ok", style="green")
