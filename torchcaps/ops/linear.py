"""`score` and `combine`: the two halves of a routing step, for couplings that must be looked at in between."""

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops.tiles import Pass, run
from torchcaps.ops.votes import Bias, Children, Maps, PerPair, Poses, dot, over_pose, pair_bytes, votes


def score(
    u: Children, w: Maps, bias: Bias, query: Poses | None, centre: Poses | None, precision: Poses | None, *, j: int
) -> Float[Tensor, "i j m"]:
    """⟨û, query⟩ − Σ_d precision · (û − centre)²: how well each child's vote suits each parent."""

    def forward(
        u: Tensor, w: Tensor, bias: Tensor | None, query: Tensor | None, centre: Tensor | None, precision: Tensor | None
    ) -> tuple[Tensor, ...]:
        v = votes(u, w, bias, j)
        total = torch.zeros_like(v[:, :, 0, 0]) if query is None else dot(v, query)
        if precision is not None:
            x = v if centre is None else v - centre
            total = total - dot(x * x, precision)
        return (total,)

    over = Pass(forward, ("im", "i", "", "m", "m", "m"), ("im",))
    inputs = (u, w, bias, query, centre, precision)
    return run(over, inputs, i=u.shape[0], m=u.shape[3], pair_bytes=pair_bytes(u, w))[0]


def combine(u: Children, w: Maps, bias: Bias, r: PerPair, *, j: int) -> Poses:
    """Σ_i r û."""

    def forward(u: Tensor, w: Tensor, bias: Tensor | None, r: Tensor) -> tuple[Tensor, ...]:
        return ((over_pose(r) * votes(u, w, bias, j)).sum(0),)

    over = Pass(forward, ("im", "i", "", "im"), ("m",))
    return run(over, (u, w, bias, r), i=u.shape[0], m=u.shape[3], pair_bytes=pair_bytes(u, w))[0]
