"""Old module names still import, with a warning that says where their contents are now."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "torchcaps.baseline": "torchcaps.network",
    "torchcaps.model": "torchcaps.network",
    "torchcaps.train.classifier": "torchcaps.sklearn",
    "torchcaps.train.company": "torchcaps.train.processes",
    "torchcaps.train.schedules": "torchcaps.train.learning_rate",
    "torchcaps.train.watch": "torchcaps.train.not_finite",
}


class Finder(MetaPathFinder, Loader):
    """Finds the modules of `MOVED` under their new names; asked last, only for what nobody else has."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A way to a module that has moved."""
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module under its new name."""
        now = MOVED[spec.name]
        warnings.warn(f"{spec.name} is now {now}: import it from there", FutureWarning, stacklevel=2)
        new = import_module(now)
        old = ModuleType(spec.name, f"What {spec.name} held is in {now}.")
        old.__dict__.update({name: value for name, value in vars(new).items() if not name.startswith("__")})
        return old

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""


def install() -> None:
    """Let the old names be found."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder())
