"""The tests that are near a module: those of its name, those that import it, and its own examples."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.mutants.fault import ROOT

MOST = 8
"""Files of tests for one module: some are imported by half of all tests."""


def near(file: str) -> tuple[str, ...]:
    """Tests of a module, the nearest first: those of its name, then those that import it and little else.

    If there are none, those named for the modules that import it; else those of its folder, else the contracts.
    """
    path = Path(file)
    importing = sorted((len(modules), test) for test, modules in _imported("tests").items() if _module(path) in modules)
    tests = _named(path) + [test for _, test in importing]
    if not tests:
        users = [user for user, modules in _imported("torchcaps").items() if _module(path) in modules]
        tests = [test for user in users for test in _named(Path(user))]
    tests = list(dict.fromkeys(tests))[:MOST] or [_folder(path)]
    own = [file] if ">>>" in (ROOT / file).read_text() else []  # last: what tests import must not be there twice
    return (*tests, *own)


def _named(path: Path) -> list[str]:
    name, folders = path.stem.strip("_"), path.parts[1:-1]
    there = dict.fromkeys("/".join(["tests", *place, f"test_{name}.py"]) for place in (folders, folders[:1]))
    return [test for test in there if (ROOT / test).is_file()]


def _folder(path: Path) -> str:
    folder = "/".join(["tests", *path.parts[1:-1][:1]])
    return folder if folder != "tests" and (ROOT / folder).is_dir() else "tests/contracts"


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@cache
def _imported(folder: str) -> dict[str, frozenset[str]]:
    """By files of a folder: the library's modules that each imports, a name of a package being its module's."""
    exported = {
        f"{_module(path.relative_to(ROOT))}.{name}": f"{module}.{name}"
        for path in (ROOT / "torchcaps").rglob("__init__.py")
        for module, name in _imports(path)
        if module != _module(path.relative_to(ROOT))  # a package's own module
    }
    files = sorted((ROOT / folder).rglob("test_*.py" if folder == "tests" else "[!_]*.py"))
    return {str(path.relative_to(ROOT)): frozenset(_modules(path, exported)) for path in files}


def _modules(path: Path, exported: dict[str, str]) -> Iterator[str]:
    for module, name in _imports(path):
        whole = f"{module}.{name}".rstrip(".")
        while whole in exported:
            whole = exported[whole]
        yield from (whole, whole.rpartition(".")[0])


def _imports(path: Path) -> Iterator[tuple[str, str]]:
    """Modules and the names imported from them; of `import module`, without a name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torchcaps"):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("torchcaps"))
