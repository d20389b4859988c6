"""Plug-ins by one rule: a kind and keywords go in, the thing comes out."""

import copy
import pickle
from pathlib import Path
from typing import Any, Literal

import pytest
from typer.testing import CliRunner

from asyncfeel import InputError, plugins
from asyncfeel.cli import app
from asyncfeel.plugins import Plugin

PLAN = ["plan", "--iterations", "3", "--quiet", "--set", "work.flops_per_step=1e6", "--set", "network.model_bits=1e5"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def planned(*arguments: str) -> Any:
    """The result of a plan that must succeed."""
    result = CliRunner().invoke(app, [*PLAN, *arguments])
    assert result.exit_code == 0, result.stderr or result.exception
    return result


def test_a_plugin_is_a_value():
    hinge = Plugin("hinge", {"a": 3.0})
    assert hinge == Plugin("hinge", {"a": 3.0}) != Plugin("hinge", {"a": 4.0})
    assert hash(hinge) == hash(Plugin("hinge", {"a": 3.0}))
    assert copy.deepcopy(hinge) == pickle.loads(pickle.dumps(hinge)) == hinge


def test_a_plugin_cannot_be_changed():
    options = {"a": 3.0}
    hinge = Plugin("hinge", options)
    options["a"] = 4.0
    assert hinge.options["a"] == 3.0
    with pytest.raises(TypeError):
        hinge.options["a"] = 5.0


def example(rng: object, *, a: float = 0.5, b: int = 2, mode: Literal["x", "y"] = "x", on: bool = False) -> None:
    """An example of a plug-in."""


def complete(**options: Any) -> dict[str, Any]:
    return plugins.complete("psi 'example'", example, options, frozenset({"rng"}))


def test_options_are_completed_with_the_defaults():
    assert complete(b=3) == {"a": 0.5, "b": 3, "mode": "x", "on": False}


def test_a_whole_number_will_do_for_a_number():
    assert isinstance(complete(a=3)["a"], float)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"c": 1}, "psi 'example' has no option 'c': there are a, b, mode, on"),
        ({"rng": 1}, "has no option 'rng'"),
        ({"a": "x"}, "a must be a number, not 'x'"),
        ({"a": True}, "a must be a number, not True"),
        ({"b": 2.0}, "b must be a whole number, not 2.0"),
        ({"b": True}, "b must be a whole number, not True"),
        ({"mode": "z"}, "mode must be 'x' or 'y', not 'z'"),
        ({"on": 1}, "on must be true or false, not 1"),
    ],
)
def test_a_wrong_option_names_the_right_ones(options, message):
    with pytest.raises(InputError, match=message):
        complete(**options)


def test_an_option_without_default_is_asked_for():
    with pytest.raises(InputError, match="needs the option 'path'"):
        plugins.complete("speeds 'file'", lambda *, path: path, {}, frozenset())


def test_a_function_with_open_keywords_takes_them_all():
    assert plugins.complete("x", lambda **keywords: keywords, {"anything": 1}, frozenset()) == {"anything": 1}


def test_a_module_in_the_working_folder(folder):
    write("mine.py", "def answer():\n    return 42\n")
    assert plugins.load("psi", "mine:answer")() == 42


def test_a_module_in_a_package_of_the_working_folder(folder):
    write("lab/mine.py", "def answer():\n    return 42\n")
    assert plugins.load("psi", "lab.mine:answer")() == 42


def test_a_file_by_its_path_even_if_a_standard_module_has_its_name(folder):
    write("lab/random.py", "def answer():\n    return 42\n")
    assert plugins.load("psi", "lab/random.py:answer")() == 42


def test_an_installed_module():
    import hypothesis

    assert plugins.load("psi", "hypothesis:given") is hypothesis.given


@pytest.mark.parametrize("kind", ["math:sqrt", "os:system", "subprocess:run", "torch:load", "numpy.lib.npyio:load"])
def test_modules_that_have_no_plugins_are_never_called(kind):
    with pytest.raises(InputError, match="has no plug-ins: name a function in a module of your own"):
        plugins.load("psi", kind)


def test_files_with_similar_paths_are_different_modules(folder):
    write("a_b.py", "def which():\n    return 'a_b'\n")
    write("a/b.py", "def which():\n    return 'a/b'\n")
    assert [plugins.load("psi", f"{path}:which")() for path in ("a_b.py", "a/b.py")] == ["a_b", "a/b"]


def test_an_installed_module_that_fails_is_reported_as_a_file_is(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    write("module_that_fails.py", "raise ValueError('boom')\n")
    with pytest.raises(InputError, match=r"module_that_fails.*boom"):
        plugins.load("psi", "module_that_fails:psi")


def test_a_function_without_a_signature_is_refused():
    with pytest.raises(InputError, match="max"):
        plugins.complete("psi 'builtins:max'", max, {}, frozenset())


def test_annotations_for_type_checkers_only_do_no_harm(folder):
    write(
        "mine.py",
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n"
        "import networkx\n"
        "if TYPE_CHECKING:\n    import networkx as nx\n"
        "def path(servers: int) -> nx.Graph:\n    return networkx.path_graph(servers)\n",
    )
    planned("--topology", "mine:path")


def test_a_partial_is_a_function_too(folder):
    write(
        "mine.py",
        "from functools import partial\n"
        "def power(*, a: float = 1.0):\n    return lambda staleness: (1 + staleness) ** -a\n"
        "square = partial(power, a=2.0)\n",
    )
    planned("--psi", "mine:square")


def test_a_psi_of_ones_own(folder):
    write("mine.py", "def psi(*, a: float = 1.0):\n    return lambda staleness: 1 / (1 + a * staleness)\n")
    planned("--psi", "mine:psi", "--set", "psi.a=2", "--out", "own")
    planned("--psi", "harmonic", "--set", "psi.b=2", "--out", "built-in")
    assert Path("own/mixing.csv").read_bytes() == Path("built-in/mixing.csv").read_bytes()


def test_speeds_and_drift_of_ones_own(folder):
    write(
        "mine.py",
        "import numpy as np\n"
        "def equal(clients: int, *, flops: float):\n    return np.full(clients, flops)\n"
        "def slower():\n    return lambda client, start_s: 0.5\n",
    )
    planned("--set", "speeds.kind=mine:equal", "--set", "speeds.flops=3e9", "--set", "drift.kind=mine:slower")
    (run,) = Path("runs").iterdir()
    assert {line.rpartition(",")[2] for line in (run / "clients.csv").read_text().splitlines()[1:]} == {"3000000000.0"}


def test_descriptions_are_read_without_importing(folder):
    write("lab/bomb.py", '"""Explodes when imported.\n\nReally.\n"""\nraise SystemExit("imported")\n')
    write("lab/_private.py", '"""Not listed."""\n')
    assert plugins.in_folder(Path("lab")) == {"bomb": "Explodes when imported."}


def test_public_functions_of_a_module_with_their_first_lines(folder):
    write("m.py", 'def one():\n    """The first."""\n\ndef _two():\n    """Hidden."""\n\nclass Three:\n    """No."""\n')
    assert plugins.in_module(Path("m.py")) == {"one": "The first."}


@pytest.mark.parametrize(("kind", "name"), [("random-regular", "random_regular"), ("ring", "ring")])
def test_kinds_and_python_names(kind, name):
    assert plugins.snake(kind) == name
    assert plugins.kebab(name) == kind
