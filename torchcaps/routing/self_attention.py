"""Self-attention among the votes for a parent."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from torchcaps.functional import Squash, length, squash_exp
from torchcaps.routing._base import Routing
from torchcaps.types import RoutingShape, State
from torchcaps.votes import Coupling, Poses, Votes


class SelfAttention(Routing):
    """s_j = Σ_i (c_ij + b_ij) û_ij with c = softmax_j(Σ_k ⟨û_ij, û_kj⟩ / √d) (Efficient-CapsNet, Mazzia et al. 2021).

    Summing the agreement of a vote with all its siblings is agreement with their sum, so one query does it.

    >>> layer = CapsuleLayer(CapsShape((6, 6), 4, 8), n=10, d=16, routing=SelfAttention)
    >>> layer(Capsules(torch.rand(2, 6, 6, 4, 8), torch.rand(2, 6, 6, 4))).pose.shape, layer.routing.iters
    (torch.Size([2, 1, 1, 10, 16]), 1)

    Args:
        squash: (1 − e^−‖s‖) s/‖s‖ in the paper.
    """

    competes = False

    def __init__(self, shape: RoutingShape, *, squash: Squash = squash_exp) -> None:
        super().__init__(shape)
        self.squash = squash
        self.prior = nn.Parameter(torch.zeros(1, 1, shape.i, shape.j, 1))

    def _siblings(self, votes: Votes) -> Float[Tensor, "b h w j d"]:
        total, _ = votes.fold(torch.ones_like(self.prior))
        return total / math.sqrt(self.shape.d_out)

    def weight_std(self, maps: int, x: int, y: int) -> float:
        return self.sum_std(1 / self.shape.j, maps, y)

    def step(self, votes: Votes, state: State | None, t: int) -> State:
        attended, _ = votes.attend(self._siblings(votes))
        expected, _ = votes.fold(self.prior)
        v = self.finish(attended + expected)
        return State(v, length(v))

    def finish(self, s: Poses, *_: Tensor) -> Poses:
        return self.squash(s)

    def couplings(self, votes: Votes, state: State | None) -> Coupling:
        return votes.attention(self._siblings(votes)) + self.prior[..., 0]
