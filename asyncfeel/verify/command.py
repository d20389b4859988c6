"""The command `asyncfeel verify`: folders in, a verdict on each out."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from asyncfeel.errors import AsyncFeelError, InputError
from asyncfeel.verify import digests, files, model, opening
from asyncfeel.verify.findings import Check, Verdict
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.reading import Malformed


def verify(folder: Path, retrain: bool = False, stop: threading.Event | None = None) -> Verdict:
    """Everything that can be checked about a run folder; it is never changed, whatever it holds."""
    try:
        opened = opening.read(folder)
        if isinstance(opened, bytes):
            return Verdict(folder, "a manifest that is no JSON", [digests.seal(opened)])
        return _verdict(opened, retrain, stop or threading.Event())
    except (InputError, OSError, ValueError) as error:
        return Verdict(folder, "", (), " ".join(str(error).split()))


def code(verdicts: Sequence[Verdict]) -> int:
    """The exit code of several verdicts: 1 if anything differs, else 2 if a folder could not be read."""
    codes = {one.code for one in verdicts}
    return 1 if 1 in codes else max(codes, default=0)


def _verdict(opened: Opened, retrain: bool, stop: threading.Event) -> Verdict:
    checks = [digests.seal(opened.data), digests.contents(opened)]
    unreadable: list[str] = []
    if not checks[0].ok or not digests.genuine(opened, "config.toml"):
        skipped = Check("schedule")
        skipped.skip("config.toml or manifest.json is not as the run left it, so nothing follows from them")
        return Verdict(opened.path, opened.about, [*checks, skipped])
    checks += _guarded("schedule", unreadable, lambda: _schedule(opened))
    checks += _guarded("rows", unreadable, lambda: _rows(opened))
    if opened.trained and opened.ended:
        checks.append(model.check(opened.path / "model.safetensors"))
    if retrain and all(check.ok for check in checks):
        checks += _guarded("retrained", unreadable, lambda: _retrained(opened, stop))
    return Verdict(opened.path, opened.about, checks, unreadable[0] if unreadable else None)


def _guarded(name: str, unreadable: list[str], work: Callable[[], list[Check]]) -> list[Check]:
    """The checks; what cannot be checked because something is missing here is told apart from a difference."""
    check = Check(name)
    try:
        return work()
    except InputError as error:
        check.skip("it could not be derived")
        unreadable.append(f"the {name} cannot be checked here: {error}")
    except AsyncFeelError as error:
        check.differ("config.toml", f"no run can follow from it: {error}")
    except Malformed as error:
        check.differ("tables", str(error))
    except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        # A folder that nobody vouches for can hold numbers that no program foresees; it is then no run's.
        check.differ("config.toml", f"no run can follow from it ({type(error).__name__}: {error})")
    return [check]


def _schedule(opened: Opened) -> list[Check]:
    from asyncfeel.verify.schedule import derive

    return derive(opened)


def _rows(opened: Opened) -> list[Check]:
    from asyncfeel.verify import world
    from asyncfeel.verify.evaluations import Evaluations
    from asyncfeel.verify.walk import Walk

    if missing := [name for name in opened.names if not files.there(opened.path / name)]:
        raise Malformed(f"there is no {missing[0]}")
    found = world.read(opened.path)
    checks = Walk(opened, opened.scenario, found).checks()
    return checks + (Evaluations(opened, opened.scenario, found).checks() if opened.trained else [])


def _retrained(opened: Opened, stop: threading.Event) -> list[Check]:
    from asyncfeel.verify.retrain import retrain

    return retrain(opened, stop)
