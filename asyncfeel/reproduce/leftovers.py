"""What an earlier pass left in the folder: kept, run anew, or set aside, and always said."""

from collections.abc import Callable
from pathlib import Path

from asyncfeel.compare import folder as folders
from asyncfeel.compare.request import NAME, Request, Run, write
from asyncfeel.errors import InputError
from asyncfeel.recording import lock, manifest
from asyncfeel.recording.atomic import PART
from asyncfeel.report import reading

Say = Callable[[str], None]
EARLY = ("config.toml", lock.NAME)
"""What a run has before it has a manifest."""


def prepare(out: Path, request: Request, say: Say) -> None:
    """Make the folder ready for a comparison: damaged runs are set aside, and what happens to each is said.

    Other seeds and gaps than those of an earlier pass are welcome, for their runs have folders of their own.
    """
    if out.is_dir() and any(out.iterdir()) and not folders.holds_comparison(out):
        raise InputError(f"the folder {str(out)!r} is not empty and holds no comparison: choose another --out")
    found = [(run, out / "runs" / run.name) for run in request.runs if (out / "runs" / run.name).is_dir()]
    finished = [run for run, path in found if _kept(run, path, say)]
    if finished:
        say(f"{len(finished)} of {len(request.runs)} runs are finished with the same scenario: they are kept")
    try:
        out.mkdir(parents=True, exist_ok=True)
        folders.replace(out / NAME, write(request))
    except OSError as error:
        raise InputError(f"the folder {str(out)!r} cannot be made: {error.strerror}") from error


def _kept(run: Run, path: Path, say: Say) -> bool:
    """Whether a folder's run is finished and whole; if it is not, it makes room."""
    if damage := damaged(path):
        say(f"the run {path.name!r} is damaged ({damage}): it is set aside as {_aside(path).name!r} and run anew")
        return False
    if folders.is_finished(run, path):
        return True
    say(f"the run {path.name!r} is not finished: it is removed and run anew")
    return False


def complete(out: Path, request: Request) -> bool:
    """Whether every run is finished, so that nothing but the figures is left to make."""
    try:
        return all(manifest.read(out / "runs" / run.name).get("status") == "finished" for run in request.runs)
    except InputError:
        return False


def damaged(path: Path) -> str:
    """What is wrong with a run's folder; nothing if it is whole, or is known to be unfinished."""
    if not (path / "manifest.json").is_file():
        early = all(entry.name in EARLY or entry.name.endswith(PART) for entry in path.iterdir())
        return "" if early else "it has no manifest.json"
    try:
        facts = manifest.read(path)
        if facts.get("status") != "finished":
            return ""
        run = reading.read(path)
    except (KeyError, InputError) as error:
        return " ".join(str(error).split())
    if facts.get("kind") == "plan":
        return ""
    ends = run.metrics["time_s"][-1:].tolist() if run.metrics is not None else []
    return "" if ends == [facts.get("time_s")] else "metrics.csv does not reach the end of the run"


def _aside(path: Path) -> Path:
    for number in range(1, 100_000):
        target = path.with_name(f"{path.name}.damaged{'' if number == 1 else f'-{number}'}")
        if not target.exists():
            return path.rename(target)
    raise InputError(f"there are 100,000 damaged copies of {str(path)!r} already: remove some")
