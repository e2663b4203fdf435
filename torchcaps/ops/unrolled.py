"""Convolutions as one product of matrices, with all windows side by side.

The direct way lays a kernel out anew in every call, forward and for both gradients; that of 1024 channels to as many
takes as long as the products with a hundred windows. Where windows are few against that, they are copied instead.
"""

from itertools import product
from typing import Any

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from torchcaps.ops.pages import room

Pair = tuple[int, int]
Columns = Float[Tensor, "ckl bhw"]

LARGE = 1 << 24  # bytes of a kernel: one that stays in a cache is soon laid out


def conv2d(
    x: Float[Tensor, "b c h w"],
    w: Float[Tensor, "o c k l"],
    bias: Float[Tensor, " o"] | None,
    stride: Pair,
    padding: Pair,
) -> Float[Tensor, "b o h2 w2"]:
    """`F.conv2d`, by the faster of the two ways.

    >>> conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 3, 3), None, (1, 1), (0, 0))
    tensor([[[[9., 9.],
              [9., 9.]]]])
    """
    if not worth_unrolling(x, w, stride, padding):
        return F.conv2d(x, w, bias, stride, padding)
    y: Tensor = _Unrolled.apply(F.pad(x, (padding[1],) * 2 + (padding[0],) * 2), w, stride)  # type: ignore[no-untyped-call]
    return y if bias is None else y + bias[:, None, None]


def worth_unrolling(x: Tensor, w: Tensor, stride: Pair, padding: Pair) -> bool:
    """Whether a large kernel has twice as many channels above as there are windows; measured with one thread.

    >>> images, kernel = torch.zeros(8, 1024, 18, 18), torch.zeros(1024, 1024, 3, 3)
    >>> worth_unrolling(images, kernel, (2, 2), (0, 0)), worth_unrolling(images, kernel, (1, 1), (0, 0))
    (True, False)
    """
    h, wide = ((x.shape[2 + k] + 2 * padding[k] - w.shape[2 + k]) // stride[k] + 1 for k in range(2))
    return w.nbytes >= LARGE and 0 < 2 * x.shape[0] * h * wide <= w.shape[0]


class _Unrolled(torch.autograd.Function):
    """The convolution without padding; its result has the channels of a position side by side, as products give it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, stride: Pair) -> Tensor:
        ctx.save_for_backward(x, w)
        ctx.stride = stride
        windows = _windows(x, w, stride)
        y = torch.mm(unroll(windows).T, w.flatten(1).T)
        return rearrange(y, "(b h w) o -> b o h w", b=windows.shape[0], h=windows.shape[2])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, w = ctx.saved_tensors
        of_x, of_w, _ = ctx.needs_input_grad
        if torch.is_grad_enabled():  # gradients that are to be differentiated again
            direct = torch.ops.aten.convolution_backward
            dx, dw, _ = direct(g, x, w, None, ctx.stride, [0, 0], [1, 1], False, [0, 0], 1, [of_x, of_w, False])
            return dx, dw, None
        g = rearrange(g, "b o h w -> o (b h w)")
        dx, dw = torch.zeros_like(x) if of_x else None, None
        if dx is not None:
            columns = room((w[0].numel(), g.shape[1]), g)
            roll(torch.mm(w.flatten(1).T, g, out=columns), _windows(dx, w, ctx.stride))
        if of_w:
            dw = room(w.shape, w)
            torch.mm(g, unroll(_windows(x, w, ctx.stride)).T, out=dw.flatten(1))
        return dx, dw, None


def _windows(x: Tensor, w: Tensor, stride: Pair) -> Float[Tensor, "b c h2 w2 k l"]:
    """A view of images."""
    return x.unfold(2, w.shape[2], stride[0]).unfold(3, w.shape[3], stride[1])


def unroll(windows: Float[Tensor, "b c h w k l"]) -> Columns:
    """All windows side by side."""
    columns = rearrange(windows, "b c h w k l -> c k l b h w")
    columns = room(columns.shape, columns).copy_(columns)
    return columns.flatten(3).flatten(0, 2)


def roll(columns: Columns, windows: Float[Tensor, "b c h w k l"]) -> None:
    """Add to windows, which may share numbers, what `unroll` would have taken from them."""
    b, c, h, _, height, width = windows.shape
    found = rearrange(columns, "(c k l) (b h w) -> b c h w k l", c=c, k=height, b=b, h=h)
    for row, column in product(range(height), range(width)):
        windows[..., row, column] += found[..., row, column]
