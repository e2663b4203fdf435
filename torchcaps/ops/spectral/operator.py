"""The operator `torchcaps::spectral`: a convolution in the frequency domain, where the native passes are loaded.

Its meaning is `F.conv2d`, which also serves where they are not. A second derivative is that of the direct convolution.
"""

from typing import Any

import torch
from torch import Tensor
from torch.library import register_autograd, register_fake
from torch.nn import functional as F

from torchcaps.ops.operators import LIBRARY

CUT = "int[2] stride, int[2] padding, int[2] n"
LIBRARY.define(
    f"spectral(Tensor x, Tensor w, Tensor? bias, Tensor? kept, {CUT}) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,)
)
LIBRARY.define(
    f"spectral_backward(Tensor g, Tensor x, Tensor w, {CUT}, bool of_x, bool of_w) -> (Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
LIBRARY.define(f"spectral_kernel(Tensor x, Tensor w, {CUT}) -> Tensor")
LIBRARY.define("digest(Tensor t) -> int")

Numbers = list[int]


def _direct(*arguments: Any) -> Tensor:
    x, w, bias, _, stride, padding, _ = arguments
    return F.conv2d(x, w, bias, stride, padding)


def _backward(*arguments: Any) -> tuple[Tensor, Tensor]:
    g, x, w, stride, padding, _, of_x, of_w = arguments
    dx, dw = _direct_backward(g, x, w, stride, padding, of_x=of_x, of_w=of_w)
    return x.new_empty(0) if dx is None else dx, w.new_empty(0) if dw is None else dw


def _backward_shapes(*arguments: Any) -> tuple[Tensor, Tensor]:
    _, x, w, _, _, _, of_x, of_w = arguments
    return torch.empty_like(x) if of_x else x.new_empty(0), torch.empty_like(w) if of_w else w.new_empty(0)


def _direct_backward(
    g: Tensor, x: Tensor, w: Tensor, stride: Numbers, padding: Numbers, *, of_x: bool, of_w: bool
) -> tuple[Tensor | None, Tensor | None]:
    dx, dw, _ = torch.ops.aten.convolution_backward(
        g, x, w, None, stride, padding, [1, 1], False, [0, 0], 1, [of_x, of_w, False]
    )
    return dx, dw


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG001
    x, w, _, _, *ctx.cut = inputs
    ctx.save_for_backward(x, w)


def _gradients(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
    """Through the backward operator, or directly where they are to be differentiated again."""
    x, w = ctx.saved_tensors
    of_x, of_w, of_bias, *_ = ctx.needs_input_grad
    dx: Tensor | None = None
    dw: Tensor | None = None
    if torch.is_grad_enabled():
        dx, dw = _direct_backward(g, x, w, *ctx.cut[:2], of_x=of_x, of_w=of_w)
    elif of_x or of_w:
        dx, dw = torch.ops.torchcaps.spectral_backward(g.contiguous(), x, w, *ctx.cut, of_x, of_w)
    return dx if of_x else None, dw if of_w else None, g.sum((0, 2, 3)) if of_bias else None, *(None,) * 4


LIBRARY.impl("spectral", _direct, "CompositeExplicitAutograd")
LIBRARY.impl("spectral_backward", _backward, "CompositeExplicitAutograd")
register_fake("torchcaps::spectral", _direct, lib=LIBRARY)
register_fake("torchcaps::spectral_backward", _backward_shapes, lib=LIBRARY)
register_autograd("torchcaps::spectral", _gradients, setup_context=_keep, lib=LIBRARY)
