"""Turned matrices: torch copies a matrix with one thread, and a tensor of more axes number by number."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops.natively import natively
from torchcaps.ops.operators import LIBRARY
from torchcaps.ops.ordinary import ordinary

LIBRARY.define("turned(Tensor t) -> Tensor")


def turned(t: Float[Tensor, "n m"]) -> Float[Tensor, "m n"]:
    """Columns as rows, in memory too; so is the gradient.

    >>> turned(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).flatten()
    tensor([1., 3., 5., 2., 4., 6.])
    """
    if torch.compiler.is_compiling() or not ordinary(t):
        return t.T.contiguous()
    made: Tensor = _Turned.apply(t) if t.requires_grad else _copied(t)  # type: ignore[no-untyped-call]
    return made


def _copied(t: Tensor) -> Tensor:
    made: Tensor = torch.ops.torchcaps.turned.default(t) if natively(t) else t.T.contiguous()
    return made


class _Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, t: Tensor) -> Tensor:  # noqa: ARG004
        return _copied(t)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:  # noqa: ARG004
        return turned(g)
