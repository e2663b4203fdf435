"""Σ_i c_ij u_i W_ij for couplings that no image changes, block by block: scaled maps never leave the cache."""

from collections.abc import Iterator
from typing import Any

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops.ordinary import ordinary
from torchcaps.ops.pages import room

BLOCK = 1 << 20  # bytes of the maps of a block
Children = Float[Tensor, "n i x"]
Maps = Float[Tensor, "i x j y"]
Couplings = Float[Tensor, "i j #y"]


def scaled_product(u: Children, w: Maps, c: Couplings) -> Float[Tensor, "n j y"]:
    """The sum over children of their votes, each times its coupling.

    >>> scaled_product(torch.ones(5, 6, 2), torch.ones(6, 2, 3, 4), torch.full((6, 3, 1), 0.5))[0, 0]
    tensor([6., 6., 6., 6.])
    """
    if torch.compiler.is_compiling() or w.nbytes <= BLOCK or not ordinary(u, w, c):
        return _at_once(u, w, c)
    made: Tensor = _Scaled.apply(u, w, c)  # type: ignore[no-untyped-call]
    return made


def _at_once(u: Children, w: Maps, c: Couplings) -> Float[Tensor, "n j y"]:
    maps = rearrange(w * c[:, None], "i x j y -> (i x) (j y)")
    return rearrange(rearrange(u, "n i x -> n (i x)") @ maps, "n (j y) -> n j y", j=w.shape[2])


def _blocks(w: Maps) -> Iterator[slice]:
    step = max(1, BLOCK * len(w) // w.nbytes)
    for begin in range(0, len(w), step):
        yield slice(begin, begin + step)


class _Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, w: Tensor, c: Tensor) -> Tensor:
        ctx.save_for_backward(u, w, c)
        s = u.new_zeros(len(u), w.shape[2] * w.shape[3])
        for block in _blocks(w):
            s.addmm_(u[:, block].flatten(1), (w[block] * c[block, None]).flatten(2).flatten(0, 1))
        return s.reshape(len(u), *w.shape[2:])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # a gradient that is to be differentiated again
            return _again(ctx.saved_tensors, g)
        u, w, c = ctx.saved_tensors
        wanted = zip((u, w, c), ctx.needs_input_grad, strict=True)
        du, dw, dc = (room(t.shape, t) if needed else None for t, needed in wanted)
        for block in _blocks(w):
            _pull(g.flatten(1), u, w, c, du, dw, dc, block)
        return du, dw, dc


def _pull(
    g: Float[Tensor, "n jy"],
    u: Children,
    w: Maps,
    c: Couplings,
    du: Children | None,
    dw: Maps | None,
    dc: Couplings | None,
    block: slice,
) -> None:
    """Write the gradients of a block of children, those that are wanted."""
    if du is not None:
        torch.mm(g, (w[block] * c[block, None]).flatten(2).flatten(0, 1).T, out=du[:, block].flatten(1))
    if dw is None and dc is None:
        return
    of_maps = (u[:, block].flatten(1).T @ g).reshape(w[block].shape)
    if dw is not None:
        torch.mul(of_maps, c[block, None], out=dw[block])
    if dc is not None:
        dc[block] = of_maps.mul_(w[block]).sum(1).sum_to_size(c[block].shape)


def _again(inputs: tuple[Tensor, ...], g: Tensor) -> tuple[Tensor | None, ...]:
    alone = [t.view_as(t) for t in inputs]  # they may depend on each other: autograd joins them outside
    wanted = [t for t in alone if t.requires_grad]
    found = iter(torch.autograd.grad(_at_once(*alone), wanted, g, create_graph=True))
    return tuple(next(found) if t.requires_grad else None for t in alone)
