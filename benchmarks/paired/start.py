"""Run as a script by the driver: the library of one tree under the workloads of another.

    python benchmarks/paired/start.py TREE DEFINITIONS

`torchcaps` is TREE's; `benchmarks` is that of DEFINITIONS, even where TREE has its own.
"""

import importlib
import importlib.util
import sys
from pathlib import Path


def main(tree: Path, definitions: Path) -> None:
    sys.path[0] = str(tree)
    library = Path(importlib.import_module("torchcaps").__file__ or "").resolve()
    if not library.is_relative_to(tree):
        raise RuntimeError(f"torchcaps came from {library.parent}, not from {tree}")
    folder = definitions / "benchmarks"
    spec = importlib.util.spec_from_file_location(
        "benchmarks", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{definitions} has no package benchmarks")
    package = importlib.util.module_from_spec(spec)
    sys.modules["benchmarks"] = package
    spec.loader.exec_module(package)
    importlib.import_module("benchmarks.paired.worker").main()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
