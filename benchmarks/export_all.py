"""Does every model, and every routing, come out of ONNX as it is in torch?

    python -m benchmarks.export_all [PATTERN …] [--width 0.1] [--json FILE]

Each model is written with its own routing; `sabour2017/capsnet` is also written with every other one. A row is the
largest difference between onnxruntime and torch that `export_onnx` found, or why there is no file.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from torchcaps._atomic import write_text
from torchcaps.export import ExportError, export_onnx
from torchcaps.models import card, create_model, list_models
from torchcaps.routing import ROUTINGS

EVERY_ROUTING = "sabour2017/capsnet"


def row(name: str, options: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What became of one model."""
    torch.manual_seed(0)
    entry = card(name)
    result = {"model": name, "routing": options.get("routing", entry.routing)}
    begin = time.perf_counter()
    try:
        done = export_onnx(create_model(name, **options), folder / "model.onnx", entry.image)
    except ExportError as error:
        return {**result, "error": str(error)}
    seconds = time.perf_counter() - begin
    return {**result, "difference": done.difference, "megabytes": done.bytes / 1e6, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--width", type=float, default=0.1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    names = sorted({name for pattern in given.patterns for name in list_models(pattern)})
    jobs: list[tuple[str, dict[str, Any]]] = [(name, {"width": given.width}) for name in names]
    if EVERY_ROUTING in names:
        own = card(EVERY_ROUTING).routing
        jobs += [(EVERY_ROUTING, {"width": given.width, "routing": r}) for r in ROUTINGS if r != own]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, options in jobs:
            rows.append(found := row(name, options, Path(folder)))
            end = found.get("error") or f"{found['difference']:.1e} in {found['seconds']:.0f} s"
            print(f"{name:32} {found['routing'] or '–':20} {end}", flush=True)
    if given.json:
        write_text(given.json, json.dumps(rows, indent=2) + "\n")
    raise SystemExit(any("error" in found for found in rows))


if __name__ == "__main__":
    main()
