"""Training a run again, as far as it got, with the identity of every iteration asserted on the way."""

import dataclasses
import platform
import socket
import tempfile
import threading
from pathlib import Path

from asyncfeel.recording import manifest
from asyncfeel.scenario import Scenario
from asyncfeel.simulation import run
from asyncfeel.verify import retrained
from asyncfeel.verify.findings import Check
from asyncfeel.verify.identity import Identity
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.reading import Rows

MOST_WORKERS = 4096


def retrain(opened: Opened, stop: threading.Event) -> list[Check]:
    """A check of each file that training decides, and one of the identity of every iteration."""
    skipped = Check("retrained", "files")
    if not opened.trained:
        skipped.skip("a plan trains nothing")
        return [skipped]
    iterations = _completed(opened)
    if not iterations:
        skipped.skip("no iteration is complete")
        return [skipped]
    identity = Identity()
    with tempfile.TemporaryDirectory(prefix="asyncfeel-verify-") as temporary:
        scenario = _again(opened.scenario, opened, iterations)
        again = Path(run(scenario, Path(temporary, "again"), view=identity, stop=stop).folder)
        if stop.is_set():
            skipped.skip("it was interrupted")
            return [skipped]
        return [*retrained.compare(opened, again, otherwise(opened)), identity.check]


def otherwise(opened: Opened) -> str:
    """Why the same bits cannot be expected here; nothing if they can (docs/design.md, what is exact when)."""
    machine, there, here = opened.manifest.get("machine"), opened.manifest.get("versions"), manifest.versions()
    machine, there = machine if isinstance(machine, dict) else {}, there if isinstance(there, dict) else {}
    for name in ("python", "numpy", "torch"):
        if there.get(name) != here.get(name):
            return f"made with {name} {there.get(name)}"
    if (machine.get("host"), machine.get("platform")) != (socket.gethostname(), platform.platform()):
        return "made on another machine"
    device = opened.manifest.get("device")
    return "" if device == "cpu" else f"made on the device {device}"


def _again(scenario: Scenario, opened: Opened, iterations: int) -> Scenario:
    """The scenario with as many workers as the run had; one that did not finish is trained as far as it got."""
    workers = opened.manifest.get("workers")
    count = workers if type(workers) is int and 0 <= workers <= MOST_WORKERS else scenario.execution.workers
    execution = dataclasses.replace(scenario.execution, workers=count)
    stop = scenario.stop
    if opened.status != "finished":
        stop = dataclasses.replace(stop, iterations=iterations, patience=None)
    return dataclasses.replace(scenario, execution=execution, stop=stop)


def _completed(opened: Opened) -> int:
    """The iterations that are complete: without the newest in iterations.csv, if the run did not end."""
    if opened.ended:
        return opened.iterations or 0
    last = 0
    table = Rows(opened.path / "iterations.csv", opened.columns("iterations"), torn=True)
    while (row := table.take()) is not None:
        last = int(row["iteration"])
    return last
