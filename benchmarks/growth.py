"""How the cost of a run grows: with clients, servers, the size of the model, and iterations.

Run it with `python benchmarks/growth.py`; it writes growth.json and growth.png into benchmarks/results/. One thing
varies at a time around 30 clients on 6 servers, a perceptron of 64 units on random images of 28 x 28, and 20 steps of
the slowest client; a row is one run of `asyncfeel run`, with what its manifest says.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

HERE = Path(__file__).parent
USUAL = {"clients": 30, "servers": 6, "hidden": 64, "iterations": 120}
VARIED = {
    "clients": (6, 15, 30, 60, 120, 240),
    "servers": (1, 2, 6, 15, 30),
    "hidden": (8, 32, 64, 256, 1024),
    "iterations": (60, 120, 240, 480),
}
LABELS = {"clients": "clients", "servers": "servers", "hidden": "hidden units", "iterations": "iterations"}
COLOURS = {"batched": "#0072b2", "threads": "#d55e00"}


def run(executor: str, clients: int, servers: int, hidden: int, iterations: int) -> dict[str, float]:
    """One run: its steps, its seconds, and the memory that it took at most."""
    keys = {
        "split.kind": "iid",
        "training.local_steps": 20,
        "stop.until_s": 1e6,
        "evaluation.every_iterations": 10**6,
        "evaluation.train_sample": 200,
        "model.hidden": hidden,
    }
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "asyncfeel", "run", "--quiet", "--out", f"{folder}/run", "--executor", executor),
            *("--dataset", "workloads:images", "--model", "mlp", "--clients", str(clients)),
            *("--servers", str(servers), "--topology", "complete", "--iterations", str(iterations)),
            *(word for key, value in keys.items() for word in ("--set", f"{key}={value}")),
        ]
        subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.DEVNULL)
        manifest = json.loads(Path(folder, "run", "manifest.json").read_text())
    return {"steps": manifest["steps"], "seconds": manifest["wall"]["training_s"]}


def measure() -> list[dict[str, Any]]:
    """All rows: what varied, its value, the executor, and what the run took."""
    rows = []
    for what, values in VARIED.items():
        for value in values:
            for executor in COLOURS:
                found = run(executor, **(USUAL | {what: value}))
                rows.append({"varied": what, "value": value, "executor": executor, **found})
                print(f"{what} {value} {executor}: {found['steps'] / found['seconds']:,.0f} steps/s", flush=True)
    return rows


def draw(rows: list[dict[str, Any]]) -> None:
    """Steps per second over each thing that varies; seconds over iterations."""
    figure, axes = pyplot.subplots(2, 2, figsize=(7.2, 5.2), layout="constrained")
    for ax, what in zip(axes.flat, VARIED, strict=True):
        for executor, colour in COLOURS.items():
            own = [row for row in rows if row["varied"] == what and row["executor"] == executor]
            seconds = what == "iterations"
            heights = [row["seconds"] if seconds else row["steps"] / row["seconds"] for row in own]
            ax.plot([row["value"] for row in own], heights, "o-", color=colour, label=executor)
        ax.set(
            xscale="log", yscale="log", xlabel=LABELS[what], ylabel="seconds" if seconds else "client steps per second"
        )
        ax.grid(alpha=0.3)
    axes[0, 0].legend(frameon=False)
    figure.savefig(HERE / "results" / "growth.png", dpi=150)


def main() -> None:
    """Measure, write and draw."""
    (HERE / "results").mkdir(exist_ok=True)
    rows = measure()
    (HERE / "results" / "growth.json").write_text(json.dumps(rows, indent=1) + "\n")
    draw(rows)


if __name__ == "__main__":
    main()
