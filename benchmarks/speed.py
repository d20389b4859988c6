"""How fast runs train: `asyncfeel run` as a user starts it, beside a plain PyTorch loop, in turns.

Run it with `python benchmarks/speed.py [--data FOLDER] [--repeat 5] [--json FILE]`. The world is that of the
preset quick (30 clients, 6 servers on a ring, speeds that differ by ten) with the workload as its task; FOLDER has
mnist.npz and cifar10.npz, and without it images are random. Speeds are client steps per second of training, from
the run's manifest; the share of overhead is what a run takes beyond the seconds in which its executor had work. Runs
write checkpoints as they do by default; one at the end is always among them.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from workloads import FILES, LAYOUTS, MODELS

HERE = Path(__file__).parent
STEPS = {"W1": 20, "W2": 10, "W3": 4}
"""Steps of the slowest client in a round."""
ITERATIONS = {"W1": 300, "W2": 36, "W3": 24}
SECONDS = {"W1": 3.0, "W2": 5.0, "W3": 12.0}
"""How long the plain loop runs."""
LAYOUTS_OF = {"W1": LAYOUTS[:1], "W2": LAYOUTS, "W3": LAYOUTS}
"""The layouts of weights that the plain loop tries; ratios are to its best, whatever it takes."""
EXECUTORS = {"W1": ("auto", "threads"), "W2": ("auto", "threads", "batched"), "W3": ("auto",)}


def plain(workload: str, threads: int, layout: str) -> float:
    """The plain loop's steps per second, in a process of its own."""
    command = [sys.executable, "workloads.py", workload, "--threads", str(threads), "--layout", layout]
    return float(_output([*command, "--seconds", str(SECONDS[workload])]))


def run(workload: str, executor: str, data: Path | None) -> dict[str, float | str]:
    """A run's steps per second, its share of overhead, and the executor that did it."""
    with tempfile.TemporaryDirectory() as folder:
        _output([sys.executable, "-m", "asyncfeel", *_arguments(workload, executor, data), "--out", f"{folder}/run"])
        manifest = json.loads(Path(folder, "run", "manifest.json").read_text())
    wall = manifest["wall"]
    return {
        "steps_per_s": manifest["steps"] / wall["training_s"],
        "overhead": (wall["training_s"] + wall["evaluation_s"]) / wall["busy_s"] - 1,
        "checkpoints": wall["checkpoints_s"] / (wall["training_s"] + wall["evaluation_s"]),
        "executor": manifest["executor"],
    }


def _arguments(workload: str, executor: str, data: Path | None) -> list[str]:
    file = None if data is None else data.resolve() / FILES[workload]
    task = (
        ["--dataset", str(file)] if file else ["--dataset", "workloads:images", "--set", f"dataset.workload={workload}"]
    )
    keys = {
        "split.kind": "iid",
        "training.local_steps": STEPS[workload],
        "training.batch": 10,
        "stop.until_s": 1e6,
        "evaluation.every_iterations": 10**6,
        "evaluation.train_sample": 100,
        "evaluation.test_sample": 100,
    }
    return [
        *("run", "--quiet", "--model", f"workloads:{workload.lower()}", "--executor", executor, *task),
        *("--iterations", str(ITERATIONS[workload])),
        *(word for key, value in keys.items() for word in ("--set", f"{key}={value}")),
    ]


def _output(command: list[str]) -> str:
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, env=os.environ)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _named(threads: int, layout: str) -> str:
    return f"plain loop, {threads} thread{'s' * (threads > 1)}{', channels last' * (layout == 'channels_last')}"


def measure(workload: str, data: Path | None, repeat: int) -> dict[str, Any]:
    """Everything about one workload, tried in turns."""
    tries: dict[str, list[float]] = {}
    chosen, overheads, checkpoints = "", [], []
    for _ in range(repeat):
        for threads, layout in itertools.product((1, 2), LAYOUTS_OF[workload]):
            tries.setdefault(_named(threads, layout), []).append(plain(workload, threads, layout))
        for executor in EXECUTORS[workload]:
            found = run(workload, executor, data)
            tries.setdefault(f"asyncfeel, {executor}", []).append(float(found["steps_per_s"]))
            if executor == "auto":
                chosen = str(found["executor"])
                overheads.append(float(found["overhead"]))
                checkpoints.append(float(found["checkpoints"]))
    medians = {who: statistics.median(values) for who, values in tries.items()}
    best = max(value for who, value in medians.items() if who.startswith("plain"))
    rows = {
        who: {"median": medians[who], "least": min(values), "most": max(values), "ratio": medians[who] / best}
        for who, values in tries.items()
    }
    shares = {"overhead": statistics.median(overheads), "checkpoints": statistics.median(checkpoints)}
    return {"rows": rows, "auto": chosen, **shares}


def table(results: dict[str, Any]) -> str:
    """The results as a table in Markdown."""
    lines = ["| | who | steps/s: median (range) | times the plain loop |", "|---|---|---|---|"]
    for workload, found in results.items():
        for who, row in found["rows"].items():
            name = f"**{who}** ({found['auto']})" if who == "asyncfeel, auto" else who
            digits = 0 if row["median"] >= 100 else 2
            spread = f"{row['median']:,.{digits}f} ({row['least']:,.{digits}f} to {row['most']:,.{digits}f})"
            lines.append(f"| {workload} | {name} | {spread} | {row['ratio']:.2f} |")
    return "\n".join(lines)


def overheads(results: dict[str, Any]) -> list[str]:
    """How much longer runs take than their executors have work, and what checkpoints take of it, by workload."""
    return [
        f"- {name}: a run takes {one['overhead']:.1%} longer than its executor has work, and its checkpoints "
        f"{one['checkpoints']:.1%} of its time"
        for name, one in results.items()
    ]


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with mnist.npz and cifar10.npz")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", choices=sorted(MODELS), action="append", help="one workload (may be repeated)")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    asked = parser.parse_args()
    results = {name: measure(name, asked.data, asked.repeat) for name in asked.only or MODELS}
    print(table(results))
    print("\n".join(overheads(results)))
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
