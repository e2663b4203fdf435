"""Votes as a tensor: the exception to votes that are never stored.

Where they take no more memory than the maps they are made with, the maps are read once instead of once in every
iteration, and their gradient is written once. Of large poses a vote takes ten times as long to make as to read: those
of several iterations are stored while they fit 256 MB. They lie as their product leaves them, for a pass whose vectors
hold children.
"""

from collections.abc import Sequence

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops import native
from torchcaps.ops.operators import LIBRARY
from torchcaps.ops.product import product
from torchcaps.ops.triton import interpreted

TINY = 1 << 16  # numbers of all votes
WIDE, MOST = 32, 1 << 28  # columns of a large pose, and bytes of all votes
Stored = Float[Tensor, "i m a j y"]


def worth_storing(w: Float[Tensor, "i x jy"], *, instances: int, rows: int, steps: int = 1) -> bool:
    """Whether the votes are so few that calls cost more than work, or no larger than their maps, or worth it for steps.

    That they are for several steps, if poses are large and the native pass serves; all was measured, on processors. On
    a card the kernels serve, whose programs share the children of few instances. A compiler may not ask, for the answer
    would fix the batch.

    >>> [worth_storing(torch.zeros(512, 16, 160), instances=m, rows=1) for m in (1, 16, 17)]
    [True, True, False]
    >>> [worth_storing(torch.zeros(144, 64, 1024), instances=288, rows=1, steps=n) for n in (1, 3)]
    [False, True]
    """
    if not _may_be_stored(w):
        return False
    i, x, jy = w.shape
    votes = instances * rows * i * jy
    if 0 < votes <= TINY or 0 < instances * rows <= x:
        return True
    large = steps > 1 and x >= WIDE and 0 < votes * w.element_size() <= MOST
    return large and native.status() == "native"


def _may_be_stored(w: Tensor) -> bool:
    return w.device.type == "cpu" and not interpreted() and not torch.compiler.is_compiling()


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
    v = product(children, w).reshape(i, -1, rows, j, y)
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
