"""Whatever is printed goes through one function: nobody else prints."""

import ast
from pathlib import Path

import torchcaps

HOME = Path(torchcaps.__file__).parent
ALLOWED = {
    "_console.py": {
        "from rich import console",
        "from rich.console import ConsoleOptions",
        "from rich.console import RenderableType",
    },
    "_telling.py": {"sys.stderr.write"},  # of what is `shown`
    "cli/_say.py": {"typer.echo"},
    "_shown.py": {"sys.stdout.write"},
    "train/processes.py": {"sys.stderr.write"},  # of numbers
}
CALLS = {
    "print",
    "typer.echo",
    "typer.secho",
    "click.echo",
    "sys.stdout.write",
    "sys.stderr.write",
    "sys.__stderr__.write",
}


def printing(path):
    """Names by which a module prints without escaping."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rich":
            for name in node.names:
                if node.module == "rich.console" or name.name in ("console", "print", "get_console"):
                    yield f"from {node.module} import {name.name}"
        elif isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in CALLS:
            yield ast.unparse(node)


def test_nobody_prints_past_the_escaping():
    found = {path.relative_to(HOME).as_posix(): set(printing(path)) for path in HOME.rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == ALLOWED
