"""Every speed that the documentation states: runs all benchmarks and writes benchmarks/results/.

Run it with `make bench`, or `python benchmarks/bench.py [--data FOLDER]`; FOLDER has mnist.npz and cifar10.npz.
It writes speed.json, plan.json and startup.json, a table of each in results.md, and the pictures speed.png, plan.png.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import speed
import startup

from asyncfeel.recording.manifest import versions

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import LogLocator, NullLocator

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def machine() -> str:
    """The machine in one line."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = names[0] if names else cpu
    found = versions()
    packages = ", ".join(f"{name} {found[name]}" for name in ("asyncfeel", "torch", "numpy") if name in found)
    return f"{os.cpu_count()} cores ({cpu}), {platform.system()}, Python {found['python']}, {packages}"


def plan() -> None:
    """Keep what plan_scale.py measures."""
    subprocess.run([sys.executable, str(HERE / "plan_scale.py"), "--json", str(RESULTS / "plan.json")], check=True)


def draw_speed(results: dict[str, Any]) -> None:
    """Bars: times the plain loop, on a scale of ratios."""
    figure, axes = pyplot.subplots(figsize=(7.2, 3.6), layout="constrained")
    bars = [(f"{work}: {who}", row["ratio"]) for work, found in results.items() for who, row in found["rows"].items()]
    names, ratios = zip(*reversed(bars), strict=True)
    axes.barh(names, ratios, color=["#0072b2" if "asyncfeel" in name else "#999999" for name in names])
    axes.bar_label(axes.containers[0], fmt="%.2f", padding=3)
    axes.set(xscale="log", xlabel="client steps per second, times the best plain loop")
    axes.set_xlim(0.8 * min(ratios), 1.6 * max(ratios))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    figure.savefig(RESULTS / "speed.png", dpi=150)


def draw_plan(rows: list[dict[str, Any]]) -> None:
    """Seconds and memory of a plan over the number of clients."""
    figure, axes = pyplot.subplots(1, 2, figsize=(6.4, 2.8), layout="constrained")
    growing = [row for row in rows if row["iterations"] == 10 * row["servers"]]
    growing = sorted({row["clients"]: row for row in growing}.values(), key=lambda row: row["clients"])
    clients = [row["clients"] for row in growing]
    for ax, key, unit in zip(axes, ("seconds", "peak_mb"), ("seconds", "peak memory, MB"), strict=True):
        ax.plot(clients, [row[key] for row in growing], "o-", color="#0072b2")
        ax.set(xscale="log", yscale="log", xlabel="clients", ylabel=unit)
        ax.grid(alpha=0.3)
    figure.savefig(RESULTS / "plan.png", dpi=150)


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with mnist.npz and cifar10.npz; left out: random images")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="only write and draw what was measured before")
    asked = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    if not asked.again:
        measure(asked.data, asked.repeat)
    report()


def measure(data: Path | None, repeat: int) -> None:
    """Measure everything, and keep it as JSON."""
    speeds = {name: speed.measure(name, data, repeat) for name in speed.MODELS}
    (RESULTS / "speed.json").write_text(json.dumps({"machine": machine(), "speeds": speeds}, indent=1) + "\n")
    plan()
    (RESULTS / "startup.json").write_text(json.dumps(startup.measure(), indent=1) + "\n")


def report() -> None:
    """Write the tables and draw the pictures."""
    kept, plans, starts = (json.loads((RESULTS / f"{name}.json").read_text()) for name in ("speed", "plan", "startup"))
    speeds = kept["speeds"]
    draw_speed(speeds)
    draw_plan(plans)
    lines = ["# What the benchmarks measured", "", f"By `make bench` on {kept['machine']}.", "", "## Training", ""]
    lines += [speed.table(speeds), "", *speed.overheads(speeds), "", "![Speed](speed.png)", "", "## Plans", ""]
    lines += [*plan_table(plans), "", "![Plans](plan.png)", "", "## Start-up", "", *startup.table(starts)]
    (RESULTS / "results.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def plan_table(rows: list[dict[str, Any]]) -> list[str]:
    """The plans as a table in Markdown."""
    lines = ["| plan: clients | servers | iterations | seconds | peak memory, MB |", "|---|---|---|---|---|"]
    for row in rows:
        world = " | ".join(f"{row[key]:,.0f}" for key in ("clients", "servers", "iterations"))
        lines.append(f"| {world} | {row['seconds']:.1f} | {row['peak_mb']:,.0f} |")
    return lines


if __name__ == "__main__":
    main()
