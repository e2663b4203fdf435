"""Few votes as a tensor: the one exception to votes that are never stored.

Where a position's votes take no more memory than the maps they are made with, the maps are read once instead of once in
every iteration, and their gradient is written once. Few instances would leave a vector of them nearly empty, so theirs
are stored as their product leaves them, for a pass whose vectors hold children; those of more are kept as the passes
lay them out.
"""

from collections.abc import Sequence

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops.operators import LIBRARY
from torchcaps.ops.triton import interpreted
from torchcaps.ops.votes import votes

FEW, TINY = 8, 1 << 16  # instances, and numbers of all votes
Stored = Float[Tensor, "i m a j y"]


def worth_storing(w: Float[Tensor, "i x jy"], *, instances: int, rows: int) -> bool:
    """Whether the votes are so few that calls cost more than work, or take half the memory of their maps.

    The latter for so few instances that they would fill half a vector; both limits were measured, on processors. On a
    card the kernels serve, whose programs share the children of few instances. A compiler may not ask, for the answer
    would fix the batch.

    >>> [worth_storing(torch.zeros(512, 16, 160), instances=m, rows=1) for m in (1, 8, 9)]
    [True, True, False]
    """
    if not _may_be_stored(w):
        return False
    i, x, jy = w.shape
    return 0 < instances * rows * i * jy <= TINY or (0 < instances <= FEW and 2 * instances * rows <= x)


def worth_keeping(w: Float[Tensor, "i x jy"], *, instances: int, rows: int) -> bool:
    """Whether the votes take no more memory than their maps, of more instances than `worth_storing` is for.

    One matrix product makes them all, and the pass reads them in every iteration.

    >>> [worth_keeping(torch.zeros(512, 64, 640), instances=m, rows=1) for m in (8, 9, 64, 65)]
    [False, True, True, False]
    """
    return _may_be_stored(w) and instances > FEW and instances * rows <= w.shape[1]


def _may_be_stored(w: Tensor) -> bool:
    return w.device.type == "cpu" and not interpreted() and not torch.compiler.is_compiling()


def keep(u: Float[Tensor, "i x a m"], w: Float[Tensor, "i x jy"]) -> Float[Tensor, "i jy a m"]:
    """û as children without maps, as `attend` takes them."""
    return votes(u, w, None, j=1).flatten(1, 2)


def store(
    u: Float[Tensor, "*lead d_in"],
    w: Float[Tensor, "i x jy"],
    bias: Float[Tensor, "j d"] | None,
    *,
    j: int,
    rows: int,
) -> Stored:
    """û of every instance's children, whose axes may have been flattened or not."""
    i, x, jy = w.shape
    y = jy // j
    children = u.reshape(-1, i, rows, x).transpose(0, 1).flatten(1, 2)
    v = torch.bmm(children, w).reshape(i, -1, rows, j, y)
    return v if bias is None else v + bias.reshape(j, rows, y).transpose(0, 1)


def attend_stored(
    v: Stored,
    query: Float[Tensor, "b h w j d"] | None,
    prior: Float[Tensor, "#b #h #w #i j"] | None,
    weight: Float[Tensor, "b h w i"] | None,
    lead: Sequence[int],
    detach: bool,  # noqa: FBT001
) -> tuple[Float[Tensor, "b h w j d"], Float[Tensor, "b h w j"]]:
    """What `attend` gives, from votes that are there; `lead` are images, and rows and columns of parents."""
    i, _, _, j, _ = v.shape
    v = rearrange(v, "i m a j y -> (m j) i (a y)")
    if query is None and prior is None and weight is None:  # a child without preference
        return (v.sum(1) / j).reshape(*lead, j, -1), v.new_full((*lead, j), i / j)
    mj, _, d = v.shape
    logits = v.new_zeros(mj, i) if query is None else torch.bmm(v, query.reshape(mj, d, 1))
    logits = logits.reshape(*lead, j, i)
    c = torch.softmax(logits if prior is None else logits + prior.transpose(3, 4), dim=3)
    c = c.detach() if detach else c
    r = c if weight is None else c * weight[:, :, :, None]
    s = torch.bmm(r.reshape(mj, 1, i), v)
    return s.reshape(*lead, j, d), r.sum(-1)


# Plain torch with torch's own gradients, but for CPUs with a compiler: there it is one call.
LIBRARY.define(
    "attend_stored(Tensor v, Tensor? query, Tensor? prior, Tensor? weight, int[3] lead, bool detach)"
    " -> (Tensor, Tensor)"
)
LIBRARY.impl("attend_stored", attend_stored, "CompositeImplicitAutograd")
