"""From a module to ONNX with torch's exporter, and what that must be told."""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from torch.onnx import ONNXProgram

OPSET = 18  # what torch's exporter writes without converting; onnxruntime reads it since 1.14


def to_onnx(module: nn.Module, images: Tensor, names: list[str], metadata: Mapping[str, str]) -> "ONNXProgram":
    """A module from `images` to a row of named outputs, as a program for any number of images.

    Args:
        metadata: what a reader of the file should know, by name.
    """
    shapes = {"images": {0: torch.export.Dim("batch")}}
    with _calm():
        program = torch.onnx.export(
            torch.export.export(module, (images,), dynamic_shapes=shapes, strict=False),
            dynamo=True,
            verbose=False,
            opset_version=OPSET,
            input_names=["images"],
            output_names=names,
            dynamic_shapes=shapes,
            custom_translation_table=_translations(),
        )
    assert program is not None
    for node in program.model.graph:
        node.metadata_props.pop("pkg.torch.onnx.stack_trace", None)  # where on whose disk which line of code lies
    program.model.metadata_props.update(metadata)
    return program


def _translations() -> dict[Any, Any]:
    """What torch's exporter does not know (ψ, for x > 0), or writes so that it gives −∞ (log σ far below zero)."""
    from onnxscript import opset18 as op

    def digamma(x: Any) -> Any:
        """ψ(x) = ψ(x + 6) − Σ 1/(x + k), and ψ(y) = log y − 1/2y − 1/12y² + 1/120y⁴ − 1/252y⁶."""
        y = op.Add(x, 6.0)
        z = op.Reciprocal(op.Mul(y, y))
        series = op.Mul(z, op.Sub(1 / 12, op.Mul(z, op.Sub(1 / 120, op.Mul(z, 1 / 252)))))
        below = op.Sum(*(op.Reciprocal(op.Add(x, float(k))) for k in range(6)))
        return op.Sub(op.Sub(op.Log(y), op.Div(0.5, y)), op.Add(series, below))

    def log_sigmoid(x: Any) -> Any:
        return op.Neg(op.Softplus(op.Neg(x)))

    return {torch.ops.aten.digamma.default: digamma, torch.ops.aten.log_sigmoid.default: log_sigmoid}


@contextmanager
def _calm() -> Iterator[None]:
    """Without what torch's exporter says about its own affairs: a class it will drop, torchvision it could not find."""
    log = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r".*LeafSpec.* is deprecated", category=FutureWarning)
            yield
    finally:
        log.setLevel(level)
