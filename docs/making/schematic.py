"""Drawings that show an idea and no numbers."""

import math

import svg


def around(count: int, x: float, y: float, radius: float) -> list[tuple[float, float]]:
    """Places on a circle, the first at the top."""
    angles = [2 * math.pi * number / count - math.pi / 2 for number in range(count)]
    return [(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles]


def mark() -> str:
    """A small ring, for the tab of a browser."""
    places = around(6, 16, 16, 11)
    shapes = [svg.path([places[d], places[(d + 1) % 6]], "line", 2) for d in range(6)]
    return svg.drawing(
        "asyncfeel",
        32,
        32,
        shapes + [svg.dot(x, y, 4, "pink" if d == 0 else "green") for d, (x, y) in enumerate(places)],
    )


def clocks() -> str:
    """Simulated time over real time: it runs ahead, stands still at a join, and goes on."""
    left, bottom = 138.0, 250.0
    shapes = [svg.arrow((left, bottom), (left, 30), "soft"), svg.arrow((left, bottom), (750, bottom), "soft")]
    shapes.append(svg.text(left + 12, 34, "simulated time", "soft", 12))
    seconds = {"A completes": 205.0, "B completes": 160.0, "C completes": 110.0, "A completes again": 65.0}
    for name, y in seconds.items():
        shapes += [
            svg.path([(left, y), (740, y)], "line", 1, dashed=True),
            svg.text(left - 12, y, name, "ink", 12, "end"),
        ]
    corners = [(left, bottom), (left + 8, 205), (340, 205), (348, 160), (500, 160), (516, 65), (690, 65), (696, 30)]
    shapes.append(svg.path(corners, "pink", 3))
    for x, y, words in [
        (243, 191, "waits for A: time stands still"),
        (424, 146, "waits for B"),
        (603, 51, "waits for A again"),
    ]:
        shapes.append(svg.text(x, y, words, "pink", 12, "middle"))
    jobs = [
        (0, left, 340, "A trains", "blue"),
        (0, 340, 690, "A trains again", "blue"),
        (1, left, 500, "B trains", "green"),
        (1, 500, 740, "B trains again", "green"),
        (2, left, 270, "C trains", "orange"),
        (2, 510, 740, "C trains again", "orange"),
    ]
    shapes += [
        svg.text(left - 12, bottom + 40 + 30 * row, f"jobs of {name}", "ink", 12, "end")
        for row, name in enumerate("ABC")
    ]
    for row, start, end, words, colour in jobs:
        shapes.append(svg.box(start, bottom + 28 + 30 * row, end - start, 24, colour))
        shapes.append(svg.text((start + end) / 2, bottom + 40 + 30 * row, words, "on", 12, "middle"))
    shapes.append(svg.text(280, bottom + 100, "done early: waits for its second", "soft", 12))
    shapes.append(svg.text(740, bottom + 14, "real time", "soft", 12, "end"))
    for x, y in [(340, 205), (500, 160), (510, 110), (690, 65)]:
        shapes.append(svg.path([(x, y), (x, bottom + 28)], "line", 1, dashed=True))
    return svg.drawing(
        "Simulated time over real time: joins hold the simulated clock until results are there", 780, 375, shapes
    )
