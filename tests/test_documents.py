"""README and docs are true: their Python blocks run, their commands work, their links lead somewhere."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asyncfeel.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "topologies" / "README.md"]

ECHO = """asyncfeel() { printf '%q ' "$@"; echo; }; command_not_found_handle() { :; }"""
PLAN = ["--executor", "stub", "--iterations", "3"]
SHORT = {"run": PLAN, "plan": PLAN, "compare": [*PLAN, "--seeds", "1"]}


def blocks(language):
    """Every fenced block of a language, with the page and its number there."""
    for page in PAGES:
        found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        for number, block in enumerate(found):
            yield pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")


def commands(page):
    """Every asyncfeel command in the shell blocks of a page, each once: bash reads them, other programs do nothing."""
    shells = re.findall(r"^```(?:sh|bash)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    script = "\n".join([ECHO, *shells])
    bash = shutil.which("bash") or "bash"
    done = subprocess.run([bash, "-uc", script], env={"PATH": "/nowhere"}, capture_output=True, text=True, check=True)
    return list(dict.fromkeys(done.stdout.splitlines()))


def in_short(command):
    """A command whose schedule is cut short and whose training is left out; one that goes on with a folder as it is."""
    words = shlex.split(command)
    goes_on = words[:2] == ["compare", "--out"] and len(words) == 3
    return words if goes_on else words + SHORT.get(words[0], [])


@pytest.mark.parametrize("block", list(blocks("python")))
def test_python_block_runs(block, tmp_path):
    command = [sys.executable, "-W", "error", "-c", block]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", list(blocks("toml")))
def test_toml_block_is_a_scenario(block, tmp_path):
    from asyncfeel import Scenario

    (tmp_path / "block.toml").write_text(block)
    Scenario.load(config=tmp_path / "block.toml")


def test_the_readmes_commands_work_in_the_order_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert len(commands(ROOT / "README.md")) >= 6
    for command in commands(ROOT / "README.md"):
        done = CliRunner().invoke(app, shlex.split(command))
        assert done.exit_code == 0, f"{command}: {done.output}"


@pytest.mark.parametrize("page", [page for page in PAGES[1:] if commands(page)], ids=lambda page: page.stem)
def test_a_pages_commands_work_in_the_order_given(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command in commands(page):
        if command.startswith("reproduce fig2"):
            continue  # it trains on CIFAR-10, which is not here: tests/reproduce does it with less
        done = CliRunner().invoke(app, in_short(command))
        assert done.exit_code == 0, f"{command}: {done.output}"


def test_what_is_not_written_by_hand_is_up_to_date():
    program = ROOT / "docs" / "making" / "parts.py"
    done = subprocess.run([sys.executable, program, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_page_of_commands_has_every_flag_that_help_shows():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    shown = CliRunner().invoke(app, ["--help"]).output
    names = re.findall(r"^  ([a-z-]+)  ", shown.partition("Commands:")[2], re.MULTILINE)
    assert len(names) >= 9
    for name in names:
        assert f"## {name}\n" in page
        flags = set(re.findall(r"--[a-z][a-z-]*", CliRunner().invoke(app, [name, "--help"]).output))
        assert {flag for flag in flags if f"`{flag}`" not in page} <= {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert re.match(r"https?://", target) or (page.parent / target).exists(), target
