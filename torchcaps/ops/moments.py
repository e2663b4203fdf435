"""`moments`: how the votes for each parent are distributed, in one pass that never stores a vote."""

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

    inputs = (u, w, bias, centre, query, precision, prior, weight)
    mass, first, second = run(moments_pass(j), inputs, i=u.shape[0], m=u.shape[3], pair_bytes=pair_bytes(u, w))
    return mass, first, second


def moments_pass(j: int) -> Pass:
    """The pass in plain torch, with its gradients in closed form."""

    def couplings(v: Tensor, x: Tensor, query: Tensor | None, precision: Tensor | None, prior: Tensor | None) -> Tensor:
        logits = torch.zeros_like(v[:, :, 0, 0]) if query is None else dot(v, query)
        if precision is not None:
            logits = logits - dot(x * x, precision)
        return torch.softmax(logits if prior is None else logits + prior, dim=1)

    def forward(
        u: Tensor,
        w: Tensor,
        bias: Tensor | None,
        centre: Tensor,
        query: Tensor | None,
        precision: Tensor | None,
        prior: Tensor | None,
        weight: Tensor | None,
    ) -> tuple[Tensor, ...]:
        v = votes(u, w, bias, j)
        x = v - centre
        return of(weigh(couplings(v, x, query, precision, prior), weight), x)

    def pullback(
        grads: Sequence[Tensor],
        u: Tensor,
        w: Tensor,
        bias: Tensor | None,
        centre: Tensor,
        query: Tensor | None,
        precision: Tensor | None,
        prior: Tensor | None,
        weight: Tensor | None,
    ) -> Tensors:
        g0, g1, g2 = grads
        v = votes(u, w, bias, j)
        x = v - centre
        c = couplings(v, x, query, precision, prior)
        slope = torch.addcmul(g1, g2, x, value=2)  # of g1 x + g2 x² against x
        dr = g0 + 0.5 * dot(slope + g1, x)
        dl = pull_softmax(c, weigh(dr, weight))
        dx = slope.mul_(over_pose(weigh(c, weight)))
        d_query = d_precision = None
        if precision is not None:
            lx = over_pose(dl) * x
            d_precision = -(lx * x).sum(0)
            dx.addcmul_(lx, precision, value=-2)
        d_centre = -dx.sum(0)
        if query is not None:
            d_query = (over_pose(dl) * v).sum(0)
            dx = dx.addcmul_(over_pose(dl), query)
        d_weight = None if weight is None else (dr * c).sum(1)
        return *pull_votes(dx, u, w, bias), d_centre, d_query, d_precision, dl, d_weight

    return Pass(forward, ("im", "i", "", "m", "m", "m", "im", "im"), ("m", "m", "m"), pullback)


def moments_of(
    u: Children, w: Maps, bias: Bias, centre: Poses, r: PerPair, *, j: int
) -> tuple[PerParent, Poses, Poses]:
    """The same moments when the coefficients r are known already."""

    def forward(u: Tensor, w: Tensor, bias: Tensor | None, centre: Tensor, r: Tensor) -> tuple[Tensor, ...]:
        return of(r, votes(u, w, bias, j) - centre)

    over = Pass(forward, ("im", "i", "", "m", "im"), ("m", "m", "m"))
    inputs = (u, w, bias, centre, r)
    mass, first, second = run(over, inputs, i=u.shape[0], m=u.shape[3], pair_bytes=pair_bytes(u, w))
    return mass, first, second


def of(r: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Σ_i r, Σ_i r x, Σ_i r x²."""
    rx = over_pose(r) * x
    return r.sum(0), rx.sum(0), (rx * x).sum(0)
