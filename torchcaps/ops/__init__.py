"""The fused passes over the votes; `torchcaps.votes` is their only caller.

Each pass has one meaning, stated in plain torch; where a native one serves the tensors at hand, it is taken.
"""

import torch
from torch import Tensor

from torchcaps.ops import native
from torchcaps.ops.attend import attend as plain_attend
from torchcaps.ops.fold import convolve, multiply
from torchcaps.ops.linear import combine, score
from torchcaps.ops.moments import moments as plain_moments
from torchcaps.ops.moments import moments_of
from torchcaps.ops.votes import Bias, Children, Maps, PerChild, PerPair, PerParent, Poses


def attend(
    u: Children,
    w: Maps,
    bias: Bias,
    query: Poses | None,
    prior: PerPair | None,
    weight: PerChild | None,
    *,
    j: int,
    detach: bool = False,
) -> tuple[Poses, PerParent]:
    """Σ_i r û and Σ_i r for r = weight · softmax_j(⟨û, query⟩ + prior); `detach` takes the softmax as a constant."""
    if not native.serves(u):
        return plain_attend(u, w, bias, query, prior, weight, j=j, detach=detach)
    s, mass = torch.ops.torchcaps.attend(*_whole(u, w, bias, query, prior, weight), j, detach)
    return s, mass


def moments(
    u: Children,
    w: Maps,
    bias: Bias,
    centre: Poses,
    query: Poses | None,
    precision: Poses | None,
    prior: PerPair | None,
    weight: PerChild | None,
    *,
    j: int,
) -> tuple[PerParent, Poses, Poses]:
    """Σ_i r, Σ_i r x, Σ_i r x²: x = û − centre, r = weight · softmax_j(⟨û, query⟩ − Σ_d precision x² + prior)."""
    if not native.serves(u):
        return plain_moments(u, w, bias, centre, query, precision, prior, weight, j=j)
    given = _whole(u, w, bias, centre, query, precision, prior, weight)
    mass, first, second = torch.ops.torchcaps.moments(*given, j)
    return mass, first, second


def _whole(*tensors: Tensor | None) -> list[Tensor | None]:
    return [None if t is None else t.contiguous() for t in tensors]


__all__ = [
    "attend",
    "combine",
    "convolve",
    "moments",
    "moments_of",
    "multiply",
    "native",
    "plain_attend",
    "plain_moments",
    "score",
]
