"""Σ_i c_ij u_i W_ij for couplings that no image changes: native passes scale the maps block by block, in the cache."""

from typing import Any

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops.natively import natively
from torchcaps.ops.operators import LIBRARY
from torchcaps.ops.ordinary import ordinary

LARGE = 1 << 20  # bytes of maps: fewer are soon scaled at once
Children = Float[Tensor, "n i x"]
Maps = Float[Tensor, "i x j y"]
Couplings = Float[Tensor, "i j #y"]
LIBRARY.define("scaled(Tensor u, Tensor w, Tensor c) -> Tensor")
LIBRARY.define("scaled_backward(Tensor g, Tensor u, Tensor w, Tensor c, bool[3] wanted) -> (Tensor, Tensor, Tensor)")


def scaled_product(u: Children, w: Maps, c: Couplings) -> Float[Tensor, "n j y"]:
    """The sum over children of their votes, each times its coupling.

    >>> scaled_product(torch.ones(5, 6, 2), torch.ones(6, 2, 3, 4), torch.full((6, 3, 1), 0.5))[0, 0]
    tensor([6., 6., 6., 6.])
    """
    if torch.compiler.is_compiling() or w.nbytes <= LARGE or not ordinary(u, w, c) or not natively(u):
        return _at_once(u, w, c)
    made: Tensor = _Scaled.apply(u, w, c)  # type: ignore[no-untyped-call]
    return made


def _at_once(u: Children, w: Maps, c: Couplings) -> Float[Tensor, "n j y"]:
    maps = rearrange(w * c[:, None], "i x j y -> (i x) (j y)")
    return rearrange(rearrange(u, "n i x -> n (i x)") @ maps, "n (j y) -> n j y", j=w.shape[2])


class _Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, w: Tensor, c: Tensor) -> Tensor:
        ctx.save_for_backward(u, w, c)
        made: Tensor = torch.ops.torchcaps.scaled.default(u, w, c)
        return made

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # a gradient that is to be differentiated again
            return _again(ctx.saved_tensors, g)
        found: tuple[Tensor | None, ...] = torch.ops.torchcaps.scaled_backward.default(
            g, *ctx.saved_tensors, ctx.needs_input_grad
        )
        return found


def _again(inputs: tuple[Tensor, ...], g: Tensor) -> tuple[Tensor | None, ...]:
    alone = [t.view_as(t) for t in inputs]  # they may depend on each other: autograd joins them outside
    wanted = [t for t in alone if t.requires_grad]
    found = iter(torch.autograd.grad(_at_once(*alone), wanted, g, create_graph=True))
    return tuple(next(found) if t.requires_grad else None for t in alone)
