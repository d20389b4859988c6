"""The command `asyncfeel report`: folders in, a page and figures out."""

from collections.abc import Sequence
from pathlib import Path

from asyncfeel.errors import InputError
from asyncfeel.report import grouping, page, story
from asyncfeel.report.charts import Figure


def report(
    folders: Sequence[Path], out: Path | None = None, figures: Path | None = None, first: Sequence[Figure] = ()
) -> list[Path]:
    """Write the page, and the figures if a folder for them is named; returns what was written.

    The page begins with the figures in `first`, which somebody else has made.
    """
    if figures is not None:
        from asyncfeel.report.figures import save

        save.require()
    target = out or (folders[0] / "report.html" if len(folders) == 1 else Path("report.html"))
    groups = grouping.gather(folders)
    _refuse_foreign(target)
    told = [*first, *story.figures(groups)]
    _write(target, page.write(groups, told))
    return [target, *(save.all_of(told, figures) if figures is not None else [])]


def _refuse_foreign(target: Path) -> None:
    if target.is_dir():
        raise InputError(
            f"{str(target)!r} is a folder: name a file with --out, such as {str(target / 'report.html')!r}"
        )
    if target.exists() and page.MARK.encode() not in target.read_bytes()[:2000]:
        raise InputError(f"the file {str(target)!r} exists and is not a report: choose another --out")


def _write(target: Path, text: str) -> None:
    draft = target.with_name(target.name + ".part")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(target)
    except OSError as error:
        raise InputError(f"the report {str(target)!r} cannot be written: {error.strerror}") from error
