"""How soon the command answers: CPU seconds of `asyncfeel --help` and `asyncfeel list`, and of small plans.

Run it with `python benchmarks/startup.py`; it prints the median of five and the range.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

NUMBERS = ["--set", "work.flops_per_step=1e8", "--set", "network.model_bits=1e6", "--until", "60"]
COMMANDS = {
    "--help": ["--help"],
    "list": ["list"],
    "plan, 30 clients, no torch": ["plan", "--quiet", *NUMBERS],
    "plan, 30 clients, model counted": ["plan", "--quiet"],
}


def cpu_seconds(arguments: list[str]) -> float:
    """The CPU time, user and system, of one process that runs the command in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
        command = [sys.executable, "-m", "asyncfeel", *arguments]
        process = subprocess.Popen(command, stdout=nowhere, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def measure() -> dict[str, list[float]]:
    """The CPU seconds of each command, five times."""
    return {name: [cpu_seconds(arguments) for _ in range(5)] for name, arguments in COMMANDS.items()}


def table(measured: dict[str, list[float]]) -> list[str]:
    """Medians and ranges, as a table in Markdown."""
    lines = ["| command | CPU seconds: median (range) |", "|---|---|"]
    return lines + [
        f"| `{name}` | {statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f}) |"
        for name, times in measured.items()
    ]


def main() -> None:
    """Measure and print."""
    print("\n".join(table(measure())))


if __name__ == "__main__":
    main()
