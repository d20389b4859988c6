"""README and docs are true: their Python blocks run, their commands work, their links lead somewhere."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asyncfeel.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "topologies" / "README.md"]


def blocks(language):
    """Every fenced block of a language, with the page and its number there."""
    for page in PAGES:
        found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        for number, block in enumerate(found):
            yield pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")


def commands():
    """Every asyncfeel command of the README, each once."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shells = "".join(re.findall(r"^```(?:sh|bash)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    lines = [line.partition("  #")[0].strip() for line in shells.splitlines()]
    return [line for line in dict.fromkeys(lines) if line.startswith("asyncfeel ")]


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
    assert len(commands()) >= 6
    for command in commands():
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, f"{command}: {done.output}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert re.match(r"https?://", target) or (page.parent / target).exists(), target
