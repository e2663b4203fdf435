"""`torchcaps export`: a trained network as one ONNX file, for programs without torch."""

import json
from pathlib import Path
from typing import Annotated

import typer

from torchcaps._telling import working
from torchcaps.cli._names import check_run
from torchcaps.cli._say import say


def export(
    run: Annotated[Path, typer.Argument(help="The directory that 'torchcaps train --out' wrote.")],
    to: Annotated[Path, typer.Option("--to", help="The file to write, such as model.onnx.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there already.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Write a trained network as ONNX (scores, poses, couplings; any batch size) and compare it with torch."""
    check_run(run)
    with working("loading torch") as tell:
        from torchcaps.export import BATCHES, check_target, export_onnx
        from torchcaps.train import load_run

        target = check_target(to, overwrite=force)
        trained = load_run(run)
        tell(f"{target.name}: tracing the network, writing it and comparing it with torch")
        told = trained.reading.metadata(trained.classes)
        done = export_onnx(trained.model, target, trained.image_shape, told, overwrite=force)
    if as_json:
        facts = {**done._asdict(), "path": str(done.path), "images": ["batch", *trained.image_shape]}
        say(json.dumps({**facts, "classes": list(trained.classes)}, indent=2))
        return
    say(f"{done.path}: {done.bytes / 1e6:.1f} MB, opset {done.opset}")
    say(f"  in   images {_shape(('batch', *trained.image_shape))}, from 0 to 1")
    for name, shape in done.outputs.items():
        say(f"  out  {name} {_shape(shape)}")
    sizes = " and ".join(map(str, BATCHES))
    say(f"onnxruntime and torch agree on batches of {sizes} images; largest difference {done.difference:.1e}")


def _shape(axes: tuple[int | str, ...]) -> str:
    return " × ".join(map(str, axes))
