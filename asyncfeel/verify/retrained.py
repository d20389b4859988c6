"""Two folders of one scenario set against each other: the run, and the same run trained again."""

from itertools import islice
from pathlib import Path
from typing import Any

from asyncfeel.recording import manifest
from asyncfeel.recording.tables import COLUMNS, WHOLE
from asyncfeel.verify import files
from asyncfeel.verify.against import Against
from asyncfeel.verify.findings import Check
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.reading import Malformed, Row, Rows
from asyncfeel.verify.totals import differing, leaves

TOLERANCE = 0.02
"""What losses, distances and models may differ by, relatively, and accuracies absolutely, where bits may differ."""
SCHEDULE = ("clients", "iterations", "staleness", "mixing", "faults")
TRAINED = ("metrics", "servers")
SCHEDULED = ("iterations", "time_s", "steps", "servers", "traffic", "idle_share", "faults")
LEARNED = ("diverged", "metrics", "best_accuracy", "consensus", "digests")


def compare(opened: Opened, again: Path, why: str) -> list[Check]:
    """A check of every file; where a reason is given why bits may differ, within a tolerance."""
    tables = [name for name in SCHEDULE if files.there(again / f"{name}.csv")]
    checks = [_exact(opened, again, name, bool(opened.elsewhere)) for name in tables]
    for check in checks:
        check.note = "trained again"
    how = f"trained again, within {TOLERANCE:.0%}: {why}" if why else "trained again, byte for byte"
    learned = [name for name in TRAINED if files.there(again / f"{name}.csv")]
    decided = [_near(opened, again, name) if why else _exact(opened, again, name) for name in learned]
    if opened.diverging or files.there(again / "divergence.csv"):
        decided.append(_diverged(opened, again, bool(why)))
    if opened.ended:
        decided.append(_model_near(opened, again) if why else _model(opened, again))
    if opened.status == "finished":
        decided.append(_totals(opened, again, exact=not why))
    for check in decided:
        check.note = check.note if check.skipped else how
    return checks + decided


def _exact(opened: Opened, again: Path, name: str, rounding: bool = False) -> Check:
    """The file against the new one; of a run that did not finish, as far as both go."""
    check, path = Check(f"{name}.csv"), again / f"{name}.csv"
    columns = next(files.lines(path)).decode().rstrip("\n").split(",")
    whole = opened.status == "finished" or name == "clients"
    table = Against(check, opened.path / f"{name}.csv", columns, whole, rounding, growing=not whole)
    for line in islice(files.lines(path), 1, None) if whole or name not in TRAINED else _earlier(path):
        table.take(line.decode())
    table.close()
    return check


def _diverged(opened: Opened, again: Path, otherwise: bool) -> Check:
    """divergence.csv against the new one; where bits may differ, so may who diverges."""
    check = Check("divergence.csv")
    if otherwise:
        check.skip("who diverges depends on the last bits, which may differ here")
    elif files.there(again / "divergence.csv"):
        return _exact(opened, again, "divergence")
    elif opened.status == "finished":
        check.differ("divergence.csv", "nothing diverged when it was trained again")
    else:
        check.skip("nothing had diverged where training again ended")
    return check


def _earlier(path: Path) -> list[bytes]:
    """The rows of a table without those of its last evaluation, which an unfinished run has not made."""
    rows = list(islice(files.lines(path), 1, None))
    last = rows[-1].split(b",")[:2] if rows else []
    return [row for row in rows if row.split(b",")[:2] != last]


def _near(opened: Opened, again: Path, name: str) -> Check:
    check, columns, whole = Check(f"{name}.csv"), COLUMNS[name], opened.status == "finished"
    try:
        old, new = (Rows(folder / f"{name}.csv", columns, torn=not opened.ended) for folder in (opened.path, again))
        while (row := old.take()) is not None and not check.full:
            other = new.take()
            if other is None or (not whole and new.peek() is None):
                break
            check.rows += 1
            _rows(check, f"{name}.csv", old.row, row, other)
        if whole and check.ok and (row is not None or new.take() is not None):
            check.differ(f"{name}.csv", "it has not as many rows as after training again")
    except Malformed as error:
        check.differ(f"{name}.csv", str(error))
    return check


def _rows(check: Check, file: str, number: int, found: Row, expected: Row) -> None:
    for column, value in expected.items():
        allowed = 0.0 if column in WHOLE or column == "time_s" else TOLERANCE * max(1.0, abs(value))
        alike = found[column] == value or (value != value and found[column] != found[column])
        if not alike and not abs(found[column] - value) <= allowed:
            check.compare(file, found[column], value, number, column)


def _model(opened: Opened, again: Path) -> Check:
    name = "model.safetensors"
    check = Check(name, "bytes", (again / name).stat().st_size)
    if files.digest(opened.path / name) != files.digest(again / name):
        check.differ(name, "it is not the model that training gives again")
    return check


def _model_near(opened: Opened, again: Path) -> Check:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    name = "model.safetensors"
    check = Check(name, "tensors")
    try:
        old, new = load_file(opened.path / name), load_file(again / name)
    except (SafetensorError, OSError, ValueError) as error:
        check.differ(name, f"it cannot be read: {error}")
        return check
    if old.keys() != new.keys() or any(old[key].shape != new[key].shape for key in new):
        check.differ(name, "it has other tensors than the model that training gives again")
        return check
    check.rows = len(new)
    gap, size = _length([old[key].double() - new[key].double() for key in new]), _length(list(new.values()))
    if gap > TOLERANCE * size:
        check.differ(name, f"it is {gap:.3g} away from the model that training gives again, whose norm is {size:.3g}")
    return check


def _length(tensors: list[Any]) -> float:
    return float(sum(float((one.double() ** 2).sum()) for one in tensors) ** 0.5)


def _totals(opened: Opened, again: Path, exact: bool) -> Check:
    """What the manifests of both say; where bits may differ, only what the schedule decides."""
    check, new = Check("totals", "values"), manifest.read(again)
    for name in (*SCHEDULED, *(LEARNED if exact else ())):
        check.rows += sum(1 for _ in leaves(new.get(name)))
        for path, found, expected in differing(name, opened.manifest.get(name), new.get(name), bool(opened.elsewhere)):
            check.compare("manifest.json", found, expected, None, path)
    return check
