"""Runs the same work in asyncfeel, in other simulators and in a plain loop, and prints a table.

Every peer gets an environment of its own. The runs alternate over the passes, so that a machine that is busy
for a while is busy for everybody. A run counts only if it did all its steps and learned something.
"""

import argparse
import json
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import install
import measure
import table
import work

HERE = Path(__file__).parent
PLAUSIBLE = 0.85
"""The test accuracy that a model reaches after all rounds if its training works."""


@dataclass(frozen=True)
class Way:
    """One way to run a script: how many clients at once, and how many threads for one operation."""

    peer: str
    script: str
    environment: str | None
    """Whose requirements it needs; nothing for what runs in this environment."""
    workers: int = 1
    threads: int = 1
    executor: str | None = None
    """Of asyncfeel; left out: its default."""
    sleeping: bool = False
    """Whether the threads of an operation sleep while they wait for each other, instead of spinning."""
    as_it_comes: bool = False
    """Whether weights lie as torch lays them, instead of channels last."""

    @property
    def variant(self) -> str:
        """What tells two ways with as many workers and threads apart."""
        settings = ((self.sleeping, "sleeping"), (self.as_it_comes, "torch's layout"))
        named = "".join(f" ({name})" for is_so, name in settings if is_so)
        return (f" {self.executor}" if self.executor else "") + named

    @property
    def variables(self) -> dict[str, str]:
        """What it needs in its environment."""
        return {"OMP_WAIT_POLICY": "PASSIVE"} if self.sleeping else {}

    def __str__(self) -> str:
        return f"{self.peer}{self.variant} {self.workers} x {self.threads}"

    def command(self, python: Path, workload: str, data: Path, rounds: int) -> list[str]:
        """The command line that runs it."""
        options = {"workload": workload, "data": data, "workers": self.workers, "threads": self.threads}
        options |= {"rounds": rounds} | ({"executor": self.executor} if self.executor else {})
        options |= {"layout": work.LAYOUTS[1]} if self.as_it_comes else {}
        flags = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        return [str(python), str(HERE / self.script), *flags]


def ways(cores: int, executors: list[str]) -> list[Way]:
    """Everybody's candidates for the best setting on a machine with so many cores."""
    found = [
        Way("plain", "plain.py", None),
        Way("plain", "plain.py", None, threads=cores),
        Way("plain", "plain.py", None, threads=cores, sleeping=cores > 1),
        *(Way("asyncfeel", "asyncfeel_sim.py", None, cores, 1, name or None) for name in executors),
        Way("Flower", "flower_sim.py", "flower", cores),
        Way("pfl-research", "pfl_research.py", "pfl"),
        Way("pfl-research", "pfl_research.py", "pfl", cores),
        Way("pfl-research", "pfl_research.py", "pfl", cores, as_it_comes=True),
        Way("FedLab", "fedlab_sim.py", "fedlab"),
        Way("FedLab", "fedlab_sim.py", "fedlab", cores),
        Way("FLGo", "flgo_sim.py", "flgo"),
        Way("FLGo", "flgo_sim.py", "flgo", cores),
        Way("fluke", "fluke_sim.py", "fluke"),
        Way("fluke", "fluke_sim.py", "fluke", threads=cores),
        Way("fluke", "fluke_sim.py", "fluke", threads=cores, sleeping=cores > 1),
    ]
    return list(dict.fromkeys(found))


def main() -> int:
    """Install, run, print and save; 1 if anybody failed."""
    asked = arguments()
    asked.data = asked.data.resolve()
    chosen = [way for way in ways(asked.cores, asked.executor) if not asked.only or way.peer in asked.only]
    pythons, failures = interpreters(chosen, asked.venvs.resolve())
    rows: list[dict[str, Any]] = []
    for number in range(asked.repeat):
        for workload in asked.workload:
            for way in chosen if number % 2 == 0 else reversed(chosen):
                if way.environment in pythons:
                    one_run(way, workload, number, pythons[way.environment], asked, rows, failures)
                    save(asked, rows, failures)
    text = tables(asked, rows, failures)
    print(text)
    if asked.markdown:
        asked.markdown.write_text(text, encoding="utf-8")
    return 1 if failures else 0


def tables(asked: argparse.Namespace, rows: list[dict[str, Any]], failures: list[str]) -> str:
    """A table for each workload in Markdown, and what failed."""
    about = machine()
    lines = ["# The same work in other simulators", ""]
    passes = "one pass" if asked.repeat == 1 else f"{asked.repeat} passes"
    who = f" --only {' '.join(asked.only)}" if asked.only else ""
    how = f"`benchmarks/peers/compare.py --repeat {asked.repeat}{who}`"
    lines += [f"By {how}: {passes} on {about['cores']} cores ({about['processor']}).", ""]
    for workload in asked.workload:
        lines += [str(work.MODELS[workload].__doc__), "", table.write(rows, workload), ""]
    return "\n".join(lines + [f"failed: {failure}" for failure in failures])


def save(asked: argparse.Namespace, rows: list[dict[str, Any]], failures: list[str]) -> None:
    """Write what there is, after every run: a comparison that is cut short loses nothing."""
    if asked.json:
        results = {"machine": machine(), "work": settings(asked), "runs": rows, "failures": failures}
        asked.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def interpreters(chosen: list[Way], home: Path) -> tuple[dict[str | None, Path], list[str]]:
    """The interpreter of each environment, and why some have none."""
    found: dict[str | None, Path] = {None: Path(sys.executable)}
    failures = []
    for peer in dict.fromkeys(way.environment for way in chosen if way.environment):
        try:
            found[peer] = install.python(peer, home)
        except install.NotInstalled as error:
            failures.append(str(error))
    return found, failures


def one_run(
    way: Way,
    workload: str,
    number: int,
    python: Path,
    asked: argparse.Namespace,
    rows: list[dict[str, Any]],
    failures: list[str],
) -> None:
    """Run once; add the row, or why there is none."""
    try:
        command = way.command(python, workload, asked.data, asked.rounds)
        row = measure.run(command, HERE, way.variables, asked.timeout)
        check(row, asked.rounds)
    except measure.Failed as error:
        failures.append(f"{way}, {workload}, pass {number + 1}: {error}")
        print(f"pass {number + 1}, {workload}, {way}: failed: {error}", file=sys.stderr, flush=True)
        return
    rows.append(row | {"pass": number, "variant": way.variant})
    print(f"pass {number + 1}, {workload}, {way}: {row['steps_per_s']:,.0f} steps/s", file=sys.stderr, flush=True)


def check(row: dict[str, Any], rounds: int) -> None:
    """An error unless the run did the whole work and its model is good."""
    steps = rounds * work.CLIENTS * work.STEPS
    if row["steps"] != steps or row["rounds"] != rounds:
        raise measure.Failed(f"{row['steps']} steps in {row['rounds']} rounds instead of {steps} in {rounds}")
    if rounds >= work.ROUNDS and row["accuracy"] < PLAUSIBLE:
        raise measure.Failed(f"the model's accuracy is {row['accuracy']}, below {PLAUSIBLE}")


def machine() -> dict[str, Any]:
    """What the figures depend on besides the programs."""
    return {
        "processor": processor(),
        "cores": usable_cores(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
    }


def processor() -> str:
    """The name of the processor."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def settings(asked: argparse.Namespace) -> dict[str, Any]:
    """The work in numbers."""
    return {
        "clients": work.CLIENTS,
        "samples": work.SAMPLES,
        "batch": work.BATCH,
        "steps": work.STEPS,
        "rate": work.RATE,
        "warm_up": work.WARM_UP,
        "rounds": asked.rounds,
        "repeat": asked.repeat,
    }


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="MNIST as an .npz file in the form of Keras")
    parser.add_argument("--venvs", type=Path, default=HERE / ".venvs", help="where the environments are made")
    parser.add_argument("--repeat", type=int, default=3, help="passes over everything")
    parser.add_argument("--rounds", type=int, default=work.ROUNDS, help="rounds on the clock in each run")
    parser.add_argument("--workload", nargs="+", choices=sorted(work.MODELS), default=sorted(work.MODELS))
    parser.add_argument("--only", nargs="+", metavar="WHO", help="e.g. plain asyncfeel FedLab; left out: everybody")
    parser.add_argument("--cores", type=int, default=usable_cores(), help="workers, or threads, of the parallel ways")
    parser.add_argument("--executor", nargs="+", default=[""], help="asyncfeel's executors; left out: its default")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds after which a run has failed")
    parser.add_argument("--json", type=Path, help="where every run is written")
    parser.add_argument("--markdown", type=Path, help="where the tables are written")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
