"""The artefacts, one file each."""

import importlib
import inspect
import pkgutil
from dataclasses import replace
from functools import cache

from torchcaps.bench.artefact import Artefact
from torchcaps.bench.frozen import frozen


@cache
def artefacts() -> dict[str, Artefact]:
    """All artefacts that there are, in the order of the frozen list."""
    found: dict[str, Artefact] = {}
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        if not module.ispkg:
            file = importlib.import_module(module.name)
            found[file.ARTEFACT.id] = replace(file.ARTEFACT, about=inspect.cleandoc(file.__doc__ or ""))
    return {name: found[name] for name in frozen() if name in found}
