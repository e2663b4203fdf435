"""The children of every window as the passes want them, in one step instead of three copies."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from torchcaps.ops.operators import LIBRARY

Grid = Float[Tensor, "b h w n d"]
Index = Int[Tensor, "h2 w2 k"]
Columns = Float[Tensor, "i x a m"]
LIBRARY.define("gathered(Tensor pose, Tensor index, int rows) -> Tensor")
LIBRARY.define("ungathered(Tensor g, Tensor index, int[] shape, int rows) -> Tensor")


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
