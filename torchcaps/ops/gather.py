"""The children of every window as the passes want them, in one step instead of three copies."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from torchcaps.ops import native
from torchcaps.ops.operators import LIBRARY
from torchcaps.ops.ordinary import ordinary
from torchcaps.ops.plain import is_plain

Grid = Float[Tensor, "b h w n d"]
Index = Int[Tensor, "h2 w2 k"]
Columns = Float[Tensor, "i x a m"]
LIBRARY.define("gathered(Tensor pose, Tensor index, int rows) -> Tensor")
LIBRARY.define("ungathered(Tensor g, Tensor index, int[] shape, int rows) -> Tensor")


def gathers(pose: Grid) -> bool:
    """Whether `gathered` takes these capsules: the native passes serve, and nobody looks inside.

    >>> gathers(torch.ones(1, 2, 2, 3, 4, dtype=torch.bfloat16))
    False
    """
    if is_plain() or torch.compiler.is_compiling() or pose.dtype not in (torch.float32, torch.float64):
        return False
    return ordinary(pose) and native.status() == "native"


def gathered(pose: Grid, index: Index, rows: int) -> Columns:
    """For each child (k n) of a window the columns and rows of its pose, instances (h2 w2 b) last.

    Args:
        index: which position (h w) lies at place k of a window; one beyond the last is padding, of zeros.
        rows: of a pose.
    """
    made: Tensor = _Gathered.apply(pose, index, rows)  # type: ignore[no-untyped-call]
    return made


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pose: Tensor, index: Tensor, rows: int) -> Tensor:
        ctx.given = index, pose.shape, rows
        made: Tensor = torch.ops.torchcaps.gathered.default(pose, index, rows)
        return made

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        return _Ungathered.apply(g, *ctx.given), None, None  # type: ignore[no-untyped-call]


class _Ungathered(torch.autograd.Function):
    """Its adjoint."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, index: Tensor, shape: torch.Size, rows: int) -> Tensor:
        ctx.given = index, rows
        made: Tensor = torch.ops.torchcaps.ungathered.default(g, index, shape, rows)
        return made

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        return gathered(g, *ctx.given), None, None, None
