"""How plans grow: real seconds and peak memory for more clients, and for more iterations.

Run it with `python benchmarks/plan_scale.py`, or with `--most 100000` for the smaller worlds only; `--repeat 3` gives
medians, and `--json FILE` also writes the table. A million clients need about 500 MB of space for their schedule.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODEL_BITS = 1e6
NUMBERS = ["--set", "work.flops_per_step=1e8", "--set", f"network.model_bits={MODEL_BITS}"]
MEGABYTE = 1_000_000
UNIT = 1 if sys.platform == "darwin" else 1024
"""The bytes of one unit of ru_maxrss."""
CLIENTS = [(clients, max(1, clients // 1000), 10) for clients in (1_000, 10_000, 100_000, 1_000_000)]
ITERATIONS = [(100_000, 100, each) for each in (5, 10, 20, 40)]
"""Worlds of so many clients and servers, in which every server completes so many iterations on average."""


def plan(clients: int, servers: int, iterations: int) -> dict[str, float]:
    """Plan one world in a process of its own: its clients' jobs, real seconds, peak memory, what it wrote."""
    world = ["--clients", str(clients), "--servers", str(servers), "--iterations", str(iterations)]
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
        command = [sys.executable, "-m", "asyncfeel", "plan", "--quiet", "--out", "plan", *world, *NUMBERS]
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=nowhere, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        size = sum(path.stat().st_size for path in Path(folder, "plan").iterdir())
        traffic = json.loads(Path(folder, "plan", "manifest.json").read_text(encoding="utf-8"))["traffic"]
    jobs, memory = traffic["downlink_bytes"] * 8 / MODEL_BITS, usage.ru_maxrss * UNIT / MEGABYTE
    return {"jobs": jobs, "seconds": seconds, "peak_mb": memory, "written_mb": size / MEGABYTE}


def measured(clients: int, servers: int, each: int, repeat: int) -> dict[str, float]:
    """The medians of so many plans of one world."""
    found = [plan(clients, servers, servers * each) for _ in range(repeat)]
    medians = {name: statistics.median(one[name] for one in found) for name in found[0]}
    return {"clients": clients, "servers": servers, "iterations": servers * each, **medians}


def show(row: dict[str, float], before: dict[str, float] | None) -> None:
    """Print a row, and how much longer it took than the one before."""
    world = f"{row['clients']:>11,}{row['servers']:>9,}{row['iterations']:>12,}{row['jobs']:>13,.0f}"
    growth = f"{row['seconds'] / before['seconds']:>8.1f} x" if before else ""
    print(f"{world}{row['seconds']:>10.2f}{row['peak_mb']:>11,.0f}{row['written_mb']:>14,.1f}{growth}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How plans grow with clients and with iterations.")
    parser.add_argument("--most", type=int, default=1_000_000, help="leave out worlds with more clients")
    parser.add_argument("--repeat", type=int, default=1, help="plans of each world; the medians are shown")
    parser.add_argument("--json", type=Path, help="a file for the table")
    asked = parser.parse_args()
    rows = []
    for worlds in (CLIENTS, ITERATIONS):
        print("    clients  servers  iterations  client jobs   seconds    peak MB    written MB   growth")
        before = None
        for world in worlds:
            if world[0] <= asked.most:
                before, last = measured(*world, asked.repeat), before
                show(before, last)
                rows.append(before)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
