"""The public names: exactly these, each there and each documented."""

import ast
import asyncio
import importlib
import inspect
from pathlib import Path

import pytest

import asyncfeel
from asyncfeel import InputError, Scenario, run

NAMES = ["AsyncFeelError", "Dataset", "InputError", "Result", "Scenario", "run"]
PACKAGE = Path(asyncfeel.__file__).parent
SOURCES = sorted([*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "topologies").glob("*.py")])
PLAN = Scenario.load(iterations=4, set={"work.flops_per_step": 1e6, "network.model_bits": 1e5})


def test_the_public_names_are_exactly_these():
    assert asyncfeel.__all__ == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_there_and_documented(name):
    assert inspect.getdoc(getattr(asyncfeel, name))


def test_a_star_import_gives_them_all():
    found: dict[str, object] = {}
    exec("from asyncfeel import *", found)
    assert set(NAMES) <= set(found)


def test_any_other_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = asyncfeel.nope


@pytest.mark.parametrize("name", [name for name in NAMES if name[0].isupper() and name.endswith("Error")])
def test_errors_take_one_message(name):
    error = getattr(asyncfeel, name)("a message")
    assert isinstance(error, asyncfeel.AsyncFeelError)
    assert str(type(error)(*error.args)) == "a message"


def test_submodules_do_not_hide_the_public_names():
    for path in PACKAGE.glob("*.py"):
        if path.stem not in ("__init__", "__main__"):
            importlib.import_module(f"asyncfeel.{path.stem}")
    assert callable(asyncfeel.run)
    assert inspect.isclass(asyncfeel.Scenario)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE.parent)))
def test_everything_public_has_a_docstring(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert list(undocumented(tree, path.stem)) == []


def undocumented(node, name):
    """The public modules, classes, functions and methods without a docstring, by name."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    if not ast.get_docstring(node):
        yield name
    for child in node.body:
        if isinstance(child, kinds) and not child.name.startswith("_") and not isinstance(node, ast.FunctionDef):
            yield from undocumented(child, f"{name}.{child.name}")


def test_a_notebook_may_run_a_scenario(tmp_path):
    async def cell():
        return run(PLAN, tmp_path / "out", train=False)

    assert asyncio.run(cell()).summary["iterations"] == 4


def test_a_notebook_sees_the_error_itself(tmp_path):
    async def cell():
        return run(PLAN.replace(clients=2), tmp_path / "out", train=False)

    with pytest.raises(InputError, match="2 clients cannot serve 6 servers"):
        asyncio.run(cell())


def test_a_result_has_its_tables_as_arrays(tmp_path):
    result = run(PLAN, tmp_path / "out", train=False)
    assert result.iterations["iteration"].tolist() == [0, 1, 2, 3]
    assert len(result.staleness["staleness"]) == 4 * 6
    assert result.clients["client"].tolist() == list(range(30))
    assert result.mixing["weight"].max() <= 1
    assert result.folder == tmp_path / "out"


def test_the_same_folder_twice_is_refused(tmp_path):
    run(PLAN, tmp_path / "out", train=False)
    with pytest.raises(InputError, match="is not empty"):
        run(PLAN, tmp_path / "out", train=False)
