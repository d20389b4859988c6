"""Writes the parts of docs/ that are not written by hand; with --check only says whether they are as they should be."""

import sys
from pathlib import Path

import commands
import gallery
import pictures

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Write all files that differ, or complain of them."""
    wanted = commands.files() | gallery.files() | pictures.files()
    stale = [path for path in wanted if not path.exists() or path.read_text(encoding="utf-8") != wanted[path]]
    if stale and "--check" in sys.argv:
        names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
        raise SystemExit(f"{names}: not what asyncfeel gives, so run 'make docs-parts'")
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
