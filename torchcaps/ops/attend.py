"""`attend`: agreement, softmax over parents and weighted sum of the votes, in one pass that never stores a vote."""

from collections.abc import Sequence

import torch
from torch import Tensor

from torchcaps.ops.tiles import Pass, Tensors, run
from torchcaps.ops.votes import (
    Bias,
    Children,
    Maps,
    PerChild,
    PerPair,
    PerParent,
    Poses,
    dot,
    over_pose,
    pair_bytes,
    pull_softmax,
    pull_votes,
    votes,
    weigh,
)

Given = Tensor | None


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
    inputs = (u, w, bias, query, prior, weight)
    over = attend_pass(j, detach)
    s, mass = run(over, inputs, i=u.shape[0], m=u.shape[3], pair_bytes=pair_bytes(u, w))
    return s, mass


def attend_pass(j: int, detach: bool) -> Pass:  # noqa: FBT001
    """The pass in plain torch, with its gradients in closed form."""

    def couplings(v: Tensor, query: Tensor | None, prior: Tensor | None) -> Tensor:
        logits = torch.zeros_like(v[:, :, 0, 0]) if query is None else dot(v, query)
        return torch.softmax(logits if prior is None else logits + prior, dim=1)

    def forward(u: Tensor, w: Tensor, bias: Given, query: Given, prior: Given, weight: Given) -> tuple[Tensor, ...]:
        v = votes(u, w, bias, j)
        c = couplings(v, query, prior)
        r = weigh(c.detach() if detach else c, weight)
        return (over_pose(r) * v).sum(0), r.sum(0)

    def pullback(
        grads: Sequence[Tensor], u: Tensor, w: Tensor, bias: Given, query: Given, prior: Given, weight: Given
    ) -> Tensors:
        g_sum, g_mass = grads
        v = votes(u, w, bias, j)
        c = couplings(v, query, prior)
        dr = dot(v, g_sum) + g_mass
        dv = over_pose(weigh(c, weight)) * g_sum
        d_query = d_logits = None
        if not detach:
            d_logits = pull_softmax(c, weigh(dr, weight))
            if query is not None:
                d_query = v.mul_(over_pose(d_logits)).sum(0)
                dv.addcmul_(over_pose(d_logits), query)
        d_weight = None if weight is None else (dr * c).sum(1)
        return *pull_votes(dv, u, w, bias), d_query, d_logits, d_weight

    return Pass(forward, ("im", "i", "", "m", "im", "im"), ("m", "m"), pullback)
