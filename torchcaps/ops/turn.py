"""Turned matrices: torch copies a matrix tile by tile, but a tensor of more axes number by number, past its caches."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops.ordinary import ordinary


def turned(t: Float[Tensor, "n m"]) -> Float[Tensor, "m n"]:
    """Columns as rows, in memory too; so is the gradient.

    >>> turned(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).flatten()
    tensor([1., 3., 5., 2., 4., 6.])
    """
    if torch.compiler.is_compiling() or not t.requires_grad or not ordinary(t):
        return t.T.contiguous()
    made: Tensor = _Turned.apply(t)  # type: ignore[no-untyped-call]
    return made


class _Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, t: Tensor) -> Tensor:  # noqa: ARG004
        return t.T.contiguous()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:  # noqa: ARG004
        return turned(g)
