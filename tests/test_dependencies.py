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
