"""The pages of the reference: one for each part of the library, filled from its docstrings when the site is built."""

import importlib
from pathlib import Path

from torchcaps._atomic import write_text

PARTS = {
    "torchcaps": ("Core", ["torchcaps.types", "torchcaps.network", "torchcaps.schedule", "torchcaps.infer"]),
    "models": ("Models", ["torchcaps.models", "torchcaps.backbones"]),
    "layers": ("Layers", ["torchcaps.layers", "torchcaps.functional", "torchcaps.windows"]),
    "routing": ("Routings", ["torchcaps.routing", "torchcaps.votes", "torchcaps.testing"]),
    "losses": ("Losses", ["torchcaps.losses"]),
    "data": ("Data", ["torchcaps.data"]),
    "train": ("Training", ["torchcaps.train", "torchcaps.sklearn", "torchcaps.export"]),
    "explain": ("Explaining", ["torchcaps.explain"]),
    "measures": ("Measures", ["torchcaps.measures"]),
    "attacks": ("Attacks", ["torchcaps.attacks"]),
    "report": ("Reports", ["torchcaps.report"]),
    "bench": (
        "Bench",
        ["torchcaps.bench.artefact", "torchcaps.bench.claims", "torchcaps.bench.verdict", "torchcaps.bench.table"],
    ),
    "explorer": ("Explorer", ["torchcaps.explorer"]),
    "ops": ("Passes", ["torchcaps.ops"]),
}

ONLY = {
    "torchcaps.ops": ("plainly", "status"),
    "torchcaps.report": ("Section", "report_on", "write_report"),
}
"""Of these, what users call; the rest is there for the parts above."""


def modules() -> list[str]:
    """Every module that the reference shows."""
    return [name for _, names in PARTS.values() for name in names]


def public(name: str) -> dict[str, object]:
    """The names that a module offers: those it says so of, or those without an underscore that are its own."""
    module = importlib.import_module(name)
    listed = ONLY.get(name) or getattr(module, "__all__", None)
    if listed is None:
        listed = [key for key, value in vars(module).items() if getattr(value, "__module__", None) == name]
    return {key: getattr(module, key) for key in listed if not key.startswith("_")}


def page(title: str, names: list[str]) -> str:
    """A page that asks for the docstrings of some modules."""
    return "\n".join([f"# {title}\n", *map(_asked, names)])


def _asked(name: str) -> str:
    members = f"      members: [{', '.join(ONLY[name])}]\n" if name in ONLY else ""
    return f"## {name}\n\n::: {name}\n    options:\n      heading_level: 3\n{members}"


def write(folder: Path) -> None:
    """All pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (title, names) in PARTS.items():
        write_text(folder / f"{name}.md", page(title, names))
