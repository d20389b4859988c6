"""The direction of imports: an architecture that holds because it is tested."""

import ast
from pathlib import Path

import pytest

import asyncfeel

PACKAGE = Path(asyncfeel.__file__).parent
HEAVY = {"torch", "torchvision", "safetensors"}
SCREEN = {"rich", "typer"}
FOUNDATION = {
    "asyncfeel",
    "asyncfeel.errors",
    "asyncfeel.jobs",
    "asyncfeel.folding",
    "asyncfeel.streams",
    "asyncfeel.plugins",
    "asyncfeel.safe_files",
}


def sources(*folders: str) -> list[Path]:
    """The files of these folders of the package; of all of it if none is named."""
    return sorted(path for folder in folders or ("",) for path in (PACKAGE / folder).rglob("*.py"))


def imports(path: Path, lazy: bool = True) -> set[str]:
    """What a file imports, with dots; without `lazy` only what happens when it is imported itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if lazy else walk_eager(tree)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found |= {resolved(str(node.module), alias.name) for alias in node.names}
    return found


def walk_eager(node: ast.AST):
    """The nodes that run when a module is imported: no function bodies, nothing for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield child
        yield from walk_eager(child)


def resolved(module: str, name: str) -> str:
    """The module that `from module import name` really needs."""
    inner = PACKAGE.parent / module.replace(".", "/") / name
    return f"{module}.{name}" if inner.is_dir() or inner.with_suffix(".py").is_file() else module


def named(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def outside(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names} - {"asyncfeel"}


def inside(names: set[str], *allowed: str) -> set[str]:
    """Modules of the package that are in none of the allowed parts."""
    return {
        name
        for name in names
        if name.partition(".")[0] == "asyncfeel"
        and name not in FOUNDATION
        and not any(name == f"asyncfeel.{part}" or name.startswith(f"asyncfeel.{part}.") for part in allowed)
    }


@pytest.mark.parametrize("path", sources("theory"), ids=named)
def test_theory_is_pure(path):
    used = imports(path)
    assert not outside(used) & (HEAVY | SCREEN | {"simpy", "asyncio", "threading", "multiprocessing"})
    assert inside(used, "theory") == set()


@pytest.mark.parametrize("path", sources("world"), ids=named)
def test_the_world_knows_theory_and_nothing_of_learning(path):
    used = imports(path)
    assert not outside(used) & (HEAVY | SCREEN)
    assert inside(used, "world", "theory") == set()


@pytest.mark.parametrize("path", sources("algorithms"), ids=named)
def test_algorithms_know_the_world_and_theory(path):
    used = imports(path)
    assert not outside(used) & (HEAVY | SCREEN | {"asyncio"})
    assert inside(used, "algorithms", "world", "theory") == set()


@pytest.mark.parametrize("path", sources("learning"), ids=named)
def test_learning_knows_nothing_of_the_simulated_world(path):
    used = imports(path)
    assert not outside(used) & (SCREEN | {"simpy"})
    assert inside(used, "learning", "theory") == set()


@pytest.mark.parametrize("path", sources("recording"), ids=named)
def test_recording_knows_the_world_and_theory(path):
    used = imports(path)
    assert not outside(used) & (HEAVY | SCREEN | {"simpy", "asyncio"})
    assert inside(used, "recording", "world", "theory") == set()


@pytest.mark.parametrize("path", sources("report"), ids=named)
def test_reports_read_folders(path):
    used = imports(path)
    assert not outside(used) & (HEAVY | SCREEN | {"simpy", "asyncio"})
    assert inside(used, "report", "recording", "replay", "scenario", "theory", "units") == set()
    if "figures" not in path.parts:
        assert "matplotlib" not in outside(used)


@pytest.mark.parametrize("path", sources("scenario"), ids=named)
def test_scenarios_need_no_world(path):
    used = imports(path)
    assert not outside(used) & (HEAVY | SCREEN | {"simpy", "numpy", "networkx"})
    assert inside(used, "scenario", "units") == set()


@pytest.mark.parametrize("path", sources(), ids=named)
def test_only_what_people_see_draws_on_the_screen(path):
    if path.name not in ("cli.py", "folder_commands.py", "flags.py", "summary.py", "progress.py"):
        assert not outside(imports(path)) & SCREEN


@pytest.mark.parametrize("path", sources(), ids=named)
def test_the_command_line_is_on_top(path):
    if path.name not in ("cli.py", "__main__.py"):
        assert "asyncfeel.cli" not in imports(path)


@pytest.mark.parametrize("path", [path for path in sources() if "learning" not in path.parts], ids=named)
def test_torch_waits_until_it_is_needed(path):
    assert not outside(imports(path, lazy=False)) & HEAVY


@pytest.mark.parametrize("path", sources(), ids=named)
def test_no_module_touches_the_import_path(path):
    assert "sys.path" not in path.read_text(encoding="utf-8")


def test_nothing_imports_in_circles():
    edges = {named(path): imports(path, lazy=False) for path in sources() if path.name != "__init__.py"}
    resolved: set[str] = set()
    while ready := {name for name, used in edges.items() if used & set(edges) <= resolved} - resolved:
        resolved |= ready
    assert set(edges) - resolved == set()


@pytest.mark.parametrize("path", sorted((PACKAGE.parent / "topologies").glob("*.py")), ids=lambda path: path.stem)
def test_a_topology_needs_only_graphs_numbers_and_errors(path):
    used = imports(path)
    assert outside(used) <= {"networkx", "numpy", "math", "itertools"}
    assert {name for name in used if name.startswith("asyncfeel")} <= {"asyncfeel.errors"}
