"""Runs that are killed at random moments, again and again, end as if nothing had happened."""

import subprocess
import sys
from pathlib import Path


def test_killed_at_random_moments():
    """In a process of its own, whose children can be killed without harm to the tests."""
    script = Path(__file__).with_name("chaos.py")
    command = [sys.executable, str(script), "--runs", "9", "--seconds", "45"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-500:]
    assert int(done.stdout.splitlines()[-1].split()[0]) > 0
