"""The command `asyncfeel verify`: a folder in, a verdict on it out."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from asyncfeel.errors import AsyncFeelError, InputError
from asyncfeel.verify import checkpoints, digests, files, memory, model, opening
from asyncfeel.verify.findings import Check, Verdict
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.reading import Malformed

LONGEST = 500
"""How much is told of an error that a file may have worded."""


def verify(folder: Path, retrain: bool = False, stop: threading.Event | None = None) -> Verdict:
    """Everything that can be checked about a run folder; it is never changed, whatever it holds."""
    try:
        with memory.bounded():
            opened = opening.read(folder)
            if isinstance(opened, bytes):
                broken = digests.seal(opened)
                broken.differ("manifest.json", "it is not the manifest of a run any more")
                return Verdict(folder, "", [broken])
            verdict = _verdict(opened)
        if not retrain or verdict.code:
            return verdict
        return _with(verdict, "retrained", lambda: _retrained(opened, stop or threading.Event()))
    except (InputError, OSError, ValueError, MemoryError) as error:
        return Verdict(folder, "", (), _sentence(error) or f"{str(folder)!r} takes too much memory")


def code(verdicts: Sequence[Verdict]) -> int:
    """The exit code of several verdicts: 1 if anything differs, else 2 if a folder could not be read."""
    codes = {one.code for one in verdicts}
    return 1 if 1 in codes else max(codes, default=0)


def _verdict(opened: Opened) -> Verdict:
    checks = [digests.seal(opened.data), digests.contents(opened)]
    verdict = Verdict(opened.path, opened.about, checks)
    if not checks[0].ok or not digests.genuine(opened, "config.toml"):
        skipped = Check("schedule")
        skipped.skip("config.toml or manifest.json is not as the run left it, so nothing follows from them")
        return Verdict(opened.path, opened.about, [*checks, skipped])
    verdict = _with(verdict, "schedule", lambda: _schedule(opened))
    verdict = _with(verdict, "rows", lambda: _rows(opened))
    if opened.trained and opened.ended:
        verdict = _with(verdict, "model", lambda: [model.check(opened.path / "model.safetensors")])
    return _with(verdict, "checkpoints", lambda: checkpoints.check(opened.path))


def _with(verdict: Verdict, name: str, work: Callable[[], list[Check]]) -> Verdict:
    """The verdict with more checks; what cannot be checked for want of something is told apart from a difference."""
    check, unreadable = Check(name), verdict.unreadable
    try:
        found = work()
    except InputError as error:
        check.skip("it could not be derived here")
        found, unreadable = [check], unreadable or _sentence(error)
    except (AsyncFeelError, Malformed) as error:
        check.differ("tables" if isinstance(error, Malformed) else "config.toml", _sentence(error))
        found = [check]
    except Exception as error:
        # A folder that nobody vouches for can hold what no program foresees: it is then no run's.
        check.differ("folder", f"no run leaves what is in it ({type(error).__name__}: {_sentence(error)})")
        found = [check]
    return Verdict(verdict.folder, verdict.about, [*verdict.checks, *found], unreadable)


def _sentence(error: BaseException) -> str:
    """What an error says, on one line of a bounded length."""
    return " ".join(str(error).split())[:LONGEST]


def _schedule(opened: Opened) -> list[Check]:
    from asyncfeel.verify.schedule import derive

    return derive(opened)


def _rows(opened: Opened) -> list[Check]:
    from asyncfeel.verify import diverged, faults, world
    from asyncfeel.verify.evaluations import Evaluations
    from asyncfeel.verify.walk import Walk

    if missing := [name for name in opened.names if not files.there(opened.path / name)]:
        raise Malformed(f"there is no {missing[0]}")
    found = world.read(opened.path)
    checks = Walk(opened, opened.scenario, found).checks()
    checks += [faults.check(opened, found)] if opened.faulty else []
    checks += [diverged.check(opened, found)] if opened.diverging else []
    return checks + (Evaluations(opened, opened.scenario, found).checks() if opened.trained else [])


def _retrained(opened: Opened, stop: threading.Event) -> list[Check]:
    from asyncfeel.verify.retrain import retrain

    return retrain(opened, stop)
