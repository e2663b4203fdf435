"""Products of large matrices: torch makes their results, and their gradients, in small pages."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops.ordinary import ordinary
from torchcaps.ops.pages import LARGE, room


def product(left: Float[Tensor, "*b n k"], right: Float[Tensor, "*#b k m"]) -> Float[Tensor, "*b n m"]:
    """left @ right, with a matrix for each of b, or with one matrix on the right for all.

    >>> product(torch.ones(5, 2, 3), torch.ones(3, 4)).shape
    torch.Size([5, 2, 4])
    """
    if torch.compiler.is_compiling() or not _large(left, right) or not ordinary(left, right):
        return left @ right
    rows = left.flatten(0, -2) if right.ndim == 2 else left
    made: Tensor = _Product.apply(rows, right)  # type: ignore[no-untyped-call]
    return made.reshape(*left.shape[:-1], right.shape[-1])


def _large(left: Tensor, right: Tensor) -> bool:
    """Whether the product is, or a gradient that may be wanted."""
    if torch.is_grad_enabled() and max(left.nbytes, right.nbytes) >= LARGE:
        return True
    return left.nbytes // max(1, left.shape[-1]) * right.shape[-1] >= LARGE


class _Product(torch.autograd.Function):
    """left @ right, both matrices, or as many on either side."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor) -> Tensor:
        ctx.save_for_backward(left, right)
        return _matmul(left, right)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor | None]:
        left, right = ctx.saved_tensors
        of_left, of_right = ctx.needs_input_grad
        return _matmul(g, right.mT) if of_left else None, _matmul(left.mT, g) if of_right else None


def _matmul(left: Tensor, right: Tensor) -> Tensor:
    if torch.is_grad_enabled():  # a gradient that is to be differentiated again
        return left @ right
    return torch.matmul(left, right, out=room((*left.shape[:-1], right.shape[-1]), left))
