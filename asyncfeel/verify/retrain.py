"""Training a run again and setting metrics, servers and model against the first time."""

import dataclasses
import platform
import socket
import tempfile
import threading
from pathlib import Path
from typing import Any

from asyncfeel.recording import manifest
from asyncfeel.recording.tables import COLUMNS, WHOLE
from asyncfeel.scenario import Scenario
from asyncfeel.simulation import run
from asyncfeel.verify import files
from asyncfeel.verify.against import Against
from asyncfeel.verify.findings import Check
from asyncfeel.verify.identity import Identity
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.reading import Malformed, Row, Rows

TOLERANCE = 0.02
"""What losses, distances and models may differ by, relatively, and accuracies absolutely, where bits may differ."""
SCHEDULE = ("clients", "iterations", "staleness", "mixing")
TRAINED = ("metrics", "servers")


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
    scenario = _again(opened.scenario, opened, iterations)
    identity = Identity()
    with tempfile.TemporaryDirectory(prefix="asyncfeel-verify-") as temporary:
        again = Path(run(scenario, Path(temporary, "again"), view=identity, stop=stop).folder)
        if stop.is_set():
            skipped.differ("retrained", "it was interrupted before its end")
            return [skipped]
        return [*_compare(opened, again, promised(opened)), identity.check]


def promised(opened: Opened) -> str:
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
    count = workers if type(workers) is int and 0 <= workers <= 4096 else scenario.execution.workers
    execution = dataclasses.replace(scenario.execution, workers=count)
    finished = opened.status == "finished"
    stop = scenario.stop if finished else dataclasses.replace(scenario.stop, iterations=iterations)
    return dataclasses.replace(scenario, execution=execution, stop=stop)


def _completed(opened: Opened) -> int:
    """The iterations that are complete in iterations.csv: without the newest, if the run did not end."""
    if opened.ended:
        return opened.iterations or 0
    last = 0
    table = Rows(opened.path / "iterations.csv", COLUMNS["iterations"], torn=True)
    while (row := table.take()) is not None:
        last = int(row["iteration"])
    return last


def _compare(opened: Opened, again: Path, why: str) -> list[Check]:
    found = [_exact(opened, again, name) for name in SCHEDULE if files.there(again / f"{name}.csv")]
    schedule = Check("retrained schedule", "rows", sum(one.rows for one in found))
    schedule.differences = [difference for one in found for difference in one.differences][:3]
    checks = [schedule]
    for name in TRAINED:
        if files.there(again / f"{name}.csv"):
            checks.append(_near(opened, again, name) if why else _exact(opened, again, name))
    if opened.ended:
        checks.append(_model(opened, again, why))
    for check in checks[1:]:
        check.name = f"retrained {check.name}"
        check.note = f"within {TOLERANCE:.0%}: {why}" if why else "byte for byte"
    return checks


def _exact(opened: Opened, again: Path, name: str) -> Check:
    """The file against the new one; of a run that did not finish, as far as both go."""
    check, path = Check(f"{name}.csv"), again / f"{name}.csv"
    columns = next(files.lines(path)).decode().rstrip("\n").split(",")
    whole = opened.status == "finished"
    table = Against(check, opened.path / f"{name}.csv", columns, complete=whole or name == "clients")
    pending: list[str] = []
    for line in list(_later(path)) if not whole and name in TRAINED else files.lines(path):
        pending.append(line.decode())
        if len(pending) == 1 and check.rows == 0 and pending[0].startswith(columns[0]):
            pending.clear()
        elif pending:
            table.take(pending.pop())
    table.close()
    return check


def _later(path: Path) -> list[bytes]:
    """The rows of a table without those of its last evaluation, which an unfinished run has not made."""
    rows = list(files.lines(path))
    last = rows[-1].split(b",")[:2]
    return [row for row in rows if row.split(b",")[:2] != last]


def _near(opened: Opened, again: Path, name: str) -> Check:
    check, columns = Check(f"{name}.csv"), COLUMNS[name]
    try:
        old, new = (Rows(folder / f"{name}.csv", columns, torn=not opened.ended) for folder in (opened.path, again))
        while (row := old.take()) is not None and (other := new.take()) is not None and not check.full:
            check.rows += 1
            _compare_rows(check, f"{name}.csv", old.row, row, other)
        if opened.status == "finished" and (row is not None or new.take() is not None):
            check.differ(f"{name}.csv", "it has not as many rows as after training again")
    except Malformed as error:
        check.differ(f"{name}.csv", str(error))
    return check


def _compare_rows(check: Check, file: str, number: int, found: Row, expected: Row) -> None:
    for column, value in expected.items():
        allowed = 0.0 if column in WHOLE or column == "time_s" else TOLERANCE * max(1.0, abs(value))
        close = abs(found[column] - value) <= allowed or (value != value and found[column] != found[column])
        if not close:
            check.compare(file, found[column], value, number, column)


def _model(opened: Opened, again: Path, why: str) -> Check:
    check, name = Check("model.safetensors", "tensors"), "model.safetensors"
    if not why:
        check.unit, check.rows = "bytes", (again / name).stat().st_size
        if files.digest(opened.path / name) != files.digest(again / name):
            check.differ(name, "it is not the model that training gives again")
        return check
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        old, new = load_file(opened.path / name), load_file(again / name)
    except (SafetensorError, OSError, ValueError) as error:
        check.differ(name, f"it cannot be read: {error}")
        return check
    if old.keys() != new.keys() or any(old[key].shape != new[key].shape for key in new):
        check.differ(name, "it has other tensors than the model that training gives again")
        return check
    check.rows = len(new)
    gap, size = (_length([f(key) for key in new]) for f in (lambda k: old[k].double() - new[k].double(), new.get))
    if not gap <= TOLERANCE * size:
        check.differ(name, f"it is {gap:.3g} away from the model that training gives again, whose norm is {size:.3g}")
    return check


def _length(tensors: list[Any]) -> float:
    return sum(float((one.double() ** 2).sum()) for one in tensors) ** 0.5
