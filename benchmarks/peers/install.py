"""One virtual environment per peer, with the torch that asyncfeel is tested with."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CONSTRAINTS = HERE.parents[1] / "constraints.txt"
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


class NotInstalled(Exception):
    """A peer could not be installed."""


def python(peer: str, home: Path) -> Path:
    """The interpreter of the peer's environment, which is made unless it is there and up to date."""
    folder, wanted = home / peer, HERE / f"requirements-{peer}.txt"
    interpreter, ready = folder / "bin" / "python", folder / "ready"
    pins = torch_pin() + "\n" + wanted.read_text(encoding="utf-8")
    if not ready.exists() or ready.read_text(encoding="utf-8") != pins:
        print(f"installing {peer} ...", file=sys.stderr, flush=True)
        _run(peer, sys.executable, "-m", "venv", "--clear", str(folder))
        _run(peer, str(interpreter), *PIP, torch_pin())
        _run(peer, str(interpreter), *PIP, torch_pin(), "-r", str(wanted))
        ready.write_text(pins, encoding="utf-8")
    return interpreter


def torch_pin() -> str:
    """The line of constraints.txt for torch; its other lines are asyncfeel's own and not for the peers."""
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("torch=="))


def _run(peer: str, *command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.strip()][-1:]
        raise NotInstalled(f"{peer} cannot be installed: {' '.join(last)}")
