"""Plug-ins by one rule: a kind and keywords go in, the thing comes out.

A plug-in is a function (or a class). In a scenario `kind` names it and the other keys are its
keywords. A kind is a built-in name, a file in a folder, or `module:function` of the user's own.
Nothing is registered: the built-in names are the public functions of a module, or the files of a
folder, and their descriptions are read from the source without importing it.
"""

import ast
import functools
import hashlib
import importlib
import importlib.util
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asyncfeel import safe_files
from asyncfeel.errors import InputError

T = typing.TypeVar("T")
FROM_FILE = "asyncfeel_plugin_"
"""How the names of modules begin that were read from a file: nobody else can import them."""
_BUILT_ON = ("matplotlib", "networkx", "numpy", "pip", "pyarrow", "ray", "rich", "safetensors", "setuptools", "simpy")
FOREIGN = frozenset(sys.stdlib_module_names).union(_BUILT_ON, ("tensorboard", "torch", "torchvision", "typer"))
"""Modules that are never plug-ins. A scenario of somebody else's must not be able to call os.system or torch.load."""


@dataclass(frozen=True)
class Plugin:
    """A plug-in as a scenario names it: its kind and its keywords."""

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", types.MappingProxyType(dict(self.options)))

    def __hash__(self) -> int:
        return hash((self.kind, tuple(sorted((key, repr(value)) for key, value in self.options.items()))))

    def __reduce__(self) -> tuple[Any, ...]:
        return Plugin, (self.kind, dict(self.options))


def snake(name: str) -> str:
    """The Python name of a kind: `random-regular` is `random_regular`."""
    return name.replace("-", "_")


def kebab(name: str) -> str:
    """The kind of a Python name: `async_sd_feel` is `async-sd-feel`."""
    return name.replace("_", "-")


def in_module(source: Path) -> dict[str, str]:
    """The public functions of a source file with the first line of their docstrings."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    return {
        node.name: summary(node)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and ast.get_docstring(node)
    }


def in_folder(folder: Path) -> dict[str, str]:
    """The public Python files of a folder with the first line of their docstrings."""
    files = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    return {path.stem: _file_summary(path) for path in files}


def _file_summary(path: Path) -> str:
    try:
        return summary(ast.parse(safe_files.text(path, "the file", safe_files.PYTHON_BYTES)))
    except (InputError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"cannot be read: {safe_files.reason(error)}"


def summary(node: ast.Module | ast.FunctionDef) -> str:
    """The first line of a docstring, or nothing."""
    return (ast.get_docstring(node) or "").partition("\n")[0]


def unknown(what: str, kind: str, names: typing.Iterable[str]) -> InputError:
    """The error for a kind that does not exist, with those that do."""
    return InputError(
        f"{what} {kind!r} is unknown: there are {', '.join(sorted(names))}, or a module:function of your own"
    )


def load(what: str, kind: str) -> Callable[..., Any]:
    """The user's own `module:function`; a module may also be a .py file, or lie in this folder."""
    module_name, _, attribute = kind.rpartition(":")
    if not module_name.endswith(".py") and module_name.partition(".")[0] in FOREIGN:
        raise InputError(
            f"{what} {kind!r}: {module_name!r} is part of Python, or of a package that asyncfeel is built on, and has "
            "no plug-ins: name a function in a module of your own, which may call it"
        )
    module = _module(what, module_name)
    found = getattr(module, attribute, None)
    if not callable(found):
        raise InputError(f"{what} {kind!r}: {module_name!r} has no function {attribute!r}")
    return typing.cast(Callable[..., Any], found)


def _module(what: str, name: str) -> types.ModuleType:
    beside = Path(name if name.endswith(".py") else f"{name.replace('.', '/')}.py")
    if not name.endswith(".py") and _installed(name):
        return _imported(name, lambda: importlib.import_module(name))
    if safe_files.is_file(beside):
        return from_file(beside)
    raise InputError(f"{what} '{name}:...': there is no module {name!r} to import and no file {str(beside)!r}")


def _installed(name: str) -> bool:
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    try:
        return _imported(name, lambda: importlib.util.find_spec(name)) is not None
    except InputError as error:
        if isinstance(error.__cause__, ImportError | ValueError | OSError):
            return False
        raise


def from_file(path: Path) -> types.ModuleType:
    """The module in a .py file, imported under a name that cannot shadow another module."""
    name = f"{FROM_FILE}{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{str(path)!r} is not a Python file")
    loader = spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        _imported(str(path), lambda: loader.exec_module(module))
    except InputError:
        del sys.modules[name]
        raise
    return module


def _imported(name: str, load_module: Callable[[], T]) -> T:
    """What an import gives; whatever the user's module does wrong becomes an error of one line."""
    try:
        return load_module()
    except (Exception, SystemExit) as error:
        raise InputError(f"{name!r} cannot be imported: {type(error).__name__}: {error}") from error


def made(what: str, function: Callable[..., Any], arguments: Mapping[str, Any] | tuple[Any, ...]) -> Any:
    """What a plug-in makes of its arguments; whatever it does wrong becomes an error of one line."""
    try:
        return function(*arguments) if isinstance(arguments, tuple) else function(**arguments)
    except InputError as error:
        named = what.partition(" ")[0] in str(error)
        raise InputError(str(error) if named else f"{what}: {error}") from error
    except (Exception, SystemExit) as error:
        raise InputError(f"{what} failed: {type(error).__name__}: {error}") from error


def complete(
    what: str, function: Callable[..., Any], options: Mapping[str, Any], given: frozenset[str]
) -> dict[str, Any]:
    """All keyword options of a plug-in: those of the user, checked, and the defaults of the rest.

    The names in `given` are supplied by asyncfeel (a generator, the number of servers) and are
    not options. A misspelt key is an error that names the valid ones.
    """
    parameters = _parameters(what, function)
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    names = [
        name for name, p in parameters.items() if name not in given and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    for name in options:
        if name not in names and not open_ended:
            raise InputError(f"{what} has no option {name!r}: there {_are(names)}")
    missing = [name for name in names if parameters[name].default is inspect.Parameter.empty and name not in options]
    if missing:
        raise InputError(
            f"{what} needs the option {missing[0]!r} (a plug-in takes options and returns the thing itself)"
        )
    hints = _hints(function)
    chosen = {name: fit(f"{what}: {name}", options[name], hints.get(name, Any)) for name in names if name in options}
    defaults = {name: parameters[name].default for name in names if name not in options}
    extra = {name: value for name, value in options.items() if name not in names}
    return {name: chosen.get(name, defaults.get(name)) for name in names} | extra


def _parameters(what: str, function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        name = getattr(function, "__name__", repr(function))
        raise InputError(f"{what}: {name!r} does not tell its parameters, so it cannot be a plug-in") from error


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotated types; none where they cannot be resolved, as with imports for type checkers only."""
    while isinstance(function, functools.partial):
        function = function.func
    try:
        return typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    except (NameError, TypeError, AttributeError):
        return {}


def _are(names: list[str]) -> str:
    return f"are {', '.join(names)}" if names else "are none"


def supply(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the things that asyncfeel can supply which the plug-in asks for by name."""
    return {name: given[name] for name in inspect.signature(function).parameters if name in given}


def fit(what: str, value: Any, hint: Any) -> Any:
    """The value as the annotated type, or an error that says what was expected.

    >>> fit("a", 1, float)
    1.0
    """
    if hint is Any:
        return value
    choices = _alternatives(hint)
    for choice in choices:
        if typing.get_origin(choice) is typing.Literal and isinstance(value, str) and value in typing.get_args(choice):
            return value
        if choice is None or choice is type(None):
            if value is None:
                return None
        elif choice is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        elif choice is Any or type(value) is (typing.get_origin(choice) or choice):
            return value
    raise InputError(f"{what} must be {' or '.join(_say(choice) for choice in choices)}, not {value!r}")


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return typing.get_args(hint)
    return (hint,)


def _say(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(repr(value) for value in typing.get_args(hint))
    words = {float: "a number", int: "a whole number", bool: "true or false", str: "a text", type(None): "left out"}
    return words.get(hint, getattr(hint, "__name__", str(hint)))
