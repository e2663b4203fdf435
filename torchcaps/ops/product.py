"""Matrix products with large results, on processors.

Results lie in huge pages, where the system has them for who asks: it takes as long to hand out 42 MB in small ones as a
core takes for a billion multiply-adds.
"""

import ctypes
import sys
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import Parameter

PAGE = 1 << 21
LARGE = 2 * PAGE  # bytes
_ADVICE = 14  # MADV_HUGEPAGE
_SYSTEM = ctypes.CDLL(None) if sys.platform == "linux" else None


def product(left: Float[Tensor, "*b k"], right: Float[Tensor, "k m"]) -> Float[Tensor, "*b m"]:
    """left @ right, of which torch makes large gradients in small pages.

    >>> product(torch.ones(5, 2, 3), torch.ones(3, 4)).shape
    torch.Size([5, 2, 4])
    """
    if right.nbytes < LARGE or not ours(left, right):
        return left @ right
    made: Tensor = _Product.apply(left.flatten(0, -2), right)  # type: ignore[no-untyped-call]
    return made.reshape(*left.shape[:-1], -1)


def ours(left: Tensor, right: Tensor) -> bool:
    """Whether these are numbers of one precision on a CPU, and neither a compiler nor a transform looks inside."""
    if torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu") or left.dtype != right.dtype:
        return False
    if any(type(t) not in (Tensor, Parameter) or t.device.type != "cpu" for t in (left, right)):
        return False
    return torch._C._functorch.peek_interpreter_stack() is None


class _Product(torch.autograd.Function):
    """left @ right, two matrices."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor) -> Tensor:
        ctx.save_for_backward(left, right)
        return matmul(left, right)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor | None]:
        left, right = ctx.saved_tensors
        of_left, of_right = ctx.needs_input_grad
        return matmul(g, right.mT) if of_left else None, matmul(left.mT, g) if of_right else None


def matmul(left: Float[Tensor, "*i n k"], right: Float[Tensor, "*i k m"]) -> Float[Tensor, "*i n m"]:
    """left @ right; a gradient that is to be differentiated again lies where torch puts it."""
    if torch.is_grad_enabled():
        return left @ right
    room = in_huge_pages(left.new_empty(*left.shape[:-1], right.shape[-1]))
    return torch.matmul(left, right, out=room)


def in_huge_pages(t: Tensor) -> Tensor:
    """The same tensor, whose memory nobody has touched yet.

    >>> in_huge_pages(torch.empty(1 << 20)).shape
    torch.Size([1048576])
    """
    if _SYSTEM is not None and t.device.type == "cpu" and t.nbytes >= LARGE:
        begin = -(-t.data_ptr() // PAGE) * PAGE
        end = (t.data_ptr() + t.nbytes) // PAGE * PAGE
        _SYSTEM.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), _ADVICE)  # it may be taken, or not
    return t
