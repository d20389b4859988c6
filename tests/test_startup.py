"""Starting is quick: help, lists and plans do not import torch."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from asyncfeel.cli import app
try:
    app(sys.argv[1:])
finally:
    print("imported:", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
NUMBERS = ("--set", "work.flops_per_step=1e6", "--set", "network.model_bits=1e5")
READINGS = ("--set", "work.flops_per_step=physical", "--set", "network.model_bits=paper")


def imported(folder, *arguments):
    """The top-level modules that a command has imported when it ends."""
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("imported: ")[2].split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("run", "--help"),
        ("--version",),
        ("list",),
        ("init", "s.toml"),
        ("plan", "--iterations", "5", *NUMBERS),
        ("plan", "--iterations", "5", *READINGS),
        ("plan", "--iterations", "5", "--dataset", "quadratic", "--topology", "nsfnet", *NUMBERS),
        ("plan", "--iterations", "5", "--clients", "5000", *NUMBERS),
        ("run", "--executor", "stub", "--iterations", "5", *NUMBERS),
    ],
    ids=" ".join,
)
def test_no_torch(arguments, tmp_path):
    assert not imported(tmp_path, *arguments) & {"torch", "torchvision", "safetensors"}


def test_verifying_a_plan_needs_no_torch(tmp_path):
    imported(tmp_path, "plan", "--iterations", "5", *NUMBERS, "--out", "plan")
    assert not imported(tmp_path, "verify", "plan") & {"torch", "torchvision", "safetensors"}


@pytest.mark.parametrize("arguments", [("--help",), ("list",)], ids=" ".join)
def test_help_and_lists_need_no_numbers(arguments, tmp_path):
    assert not imported(tmp_path, *arguments) & {"numpy", "networkx", "simpy"}


def test_importing_the_package_imports_nothing_heavy(tmp_path):
    program = "import sys, asyncfeel; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"torch", "numpy", "networkx", "simpy", "rich", "typer"}
