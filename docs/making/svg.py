"""Drawings as SVG text: shapes whose colours have names, with a light and a dark value each.

A drawing that is opened by itself, or by a repository browser, follows the system's scheme and brings its own paper;
in the site it follows the site's (styles/pictures.css).
"""

from collections.abc import Iterator
from html import escape

COLOURS = {
    "paper": ("#ffffff", "#1e2129"),
    "panel": ("#eef1f6", "#2b303b"),
    "line": ("#b9c0cc", "#555d6d"),
    "soft": ("#566070", "#a9b1c0"),
    "ink": ("#1d2330", "#e9ebf1"),
    "on": ("#ffffff", "#12151b"),
    "blue": ("#3562c4", "#7ea4f2"),
    "orange": ("#b8600b", "#f0a648"),
    "green": ("#1f7f57", "#5cc797"),
    "pink": ("#ab2f84", "#e884c8"),
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif"


def rules(dark: bool, scope: str = "") -> Iterator[str]:
    """A fill and a stroke for each colour."""
    for name, values in COLOURS.items():
        yield f"{scope}.af-{name}{{fill:{values[dark]}}}{scope}.af-{name}-line{{stroke:{values[dark]};fill:none}}"


def stylesheet() -> str:
    """The colours for pages that switch schemes themselves."""
    schemes = {"default": False, "slate": True}
    lines = [line for name, dark in schemes.items() for line in rules(dark, f"[data-md-color-scheme={name}] ")]
    lines += [f"[data-md-color-scheme={name}] .af-paper{{fill:none}}" for name in schemes]
    return "/* Written by docs/making/pictures.py. */\n" + "\n".join(lines) + "\n"


def drawing(title: str, width: float, height: float, shapes: list[str]) -> str:
    """A whole file; the title is what is read out to those who cannot see it."""
    style = "".join([*rules(False), "@media(prefers-color-scheme:dark){", *rules(True), "}"])
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-size="13"'
    lines = [f'{head} font-family="{FONT}">', f"<title>{escape(title)}</title>", f"<style>{style}</style>"]
    return "\n".join([*lines, box(0, 0, width, height, "paper", 8), *shapes, "</svg>"]) + "\n"


def box(x: float, y: float, width: float, height: float, colour: str, radius: float = 3) -> str:
    """A filled rectangle."""
    place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="{_n(radius)}"'
    return f'<rect {place} class="af-{colour}"/>'


def frame(x: float, y: float, width: float, height: float, colour: str, thickness: float = 2) -> str:
    """The outline of a rectangle."""
    place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="3"'
    return f'<rect {place} stroke-width="{_n(thickness)}" class="af-{colour}-line"/>'


def dot(x: float, y: float, radius: float, colour: str) -> str:
    """A filled circle."""
    return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" class="af-{colour}"/>'


def path(points: list[tuple[float, float]], colour: str, thickness: float = 1.5, dashed: bool = False) -> str:
    """Straight lines from point to point."""
    steps = " ".join(f"{'L' if number else 'M'}{_n(x)} {_n(y)}" for number, (x, y) in enumerate(points))
    dashes = ' stroke-dasharray="4 4"' if dashed else ""
    return f'<path d="{steps}" stroke-width="{_n(thickness)}"{dashes} class="af-{colour}-line"/>'


def arrow(start: tuple[float, float], end: tuple[float, float], colour: str, head: float = 6) -> str:
    """A line with a head, whichever way it points."""
    (x, y), (u, v) = start, end
    length = ((u - x) ** 2 + (v - y) ** 2) ** 0.5
    a, b = (u - x) / length, (v - y) / length
    wings = [(u - head * a + side * head / 2 * b, v - head * b - side * head / 2 * a) for side in (1, -1)]
    corners = " ".join(f"{_n(p)},{_n(q)}" for p, q in [(u, v), *wings])
    return path([start, (u - head * a, v - head * b)], colour) + f'<polygon points="{corners}" class="af-{colour}"/>'


def text(
    x: float, y: float, words: str, colour: str = "ink", size: float = 13, anchor: str = "start", bold: bool = False
) -> str:
    """A line of text; y is its middle."""
    weight = ' font-weight="600"' if bold else ""
    place = f'x="{_n(x)}" y="{_n(y + size * 0.35)}" font-size="{_n(size)}" text-anchor="{anchor}"{weight}'
    return f'<text {place} class="af-{colour}">{escape(words)}</text>'


def _n(value: float) -> str:
    """A number of pixels, to a tenth."""
    return f"{round(float(value), 1):g}"
