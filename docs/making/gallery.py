"""The list of docs/examples.md, from the first lines of the examples themselves."""

import ast
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "examples.md"
FOLDER = PAGE.parents[1] / "examples"
PLACE = re.compile(r"<!-- examples: (?P<suffix>\w+) -->\n.*?<!-- end -->", re.DOTALL)


def files() -> dict[Path, str]:
    """The page with a row for each example."""
    return {PAGE: PLACE.sub(_filled, PAGE.read_text(encoding="utf-8"))}


def _filled(place: re.Match[str]) -> str:
    rows = [_row(path) for path in sorted(FOLDER.glob(f"*.{place['suffix']}"))]
    lines = ["| example | what it is |", "|---|---|", *rows]
    return "\n".join([f"<!-- examples: {place['suffix']} -->", "", *lines, "", "<!-- end -->"])


def _row(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        meaning = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    else:
        meaning = text.partition("\n")[0].lstrip("# ")
    return f"| [{path.name}](../examples/{path.name}) | {meaning} |"
