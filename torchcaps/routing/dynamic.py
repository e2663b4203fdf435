"""Routing by agreement."""

import torch
from torch import Tensor, nn

from torchcaps.functional import Squash, length, squash
from torchcaps.routing._base import Routing
from torchcaps.types import RoutingShape, State
from torchcaps.votes import Coupling, Poses, Votes


class Dynamic(Routing):
    """Dynamic routing (Sabour et al. 2017, procedure 1; gu2021, equation 2; peer2021, algorithm 1).

    The logit of the paper, b_ij + Σ_r ⟨û_ij, v_j⁽ʳ⁾⟩, is linear in the outputs: their sum so far is all it remembers.

    >>> layer = CapsuleLayer(CapsShape((6, 6), 4, 8), n=10, d=16, routing=Dynamic)
    >>> layer(Capsules(torch.rand(2, 6, 6, 4, 8), torch.rand(2, 6, 6, 4))).pose.shape, layer.routing.iters
    (torch.Size([2, 1, 1, 10, 16]), 3)

    Args:
        squash: `squash`, or `squash_exp` (mitterreiter2023, equation 1).
        prior: whether the logits b_ij start from learned values (mitterreiter2023, section 3.3) instead of zero.
        bias: whether a learned vector is added to each s_j before the squash (peer2021, section 4.1).
        bias_init: its first value.
        detach: whether the couplings are constants in the backward pass.
    """

    def __init__(
        self,
        shape: RoutingShape,
        *,
        iters: int = 3,
        squash: Squash = squash,
        prior: bool = False,
        bias: bool = False,
        bias_init: float = 0.1,
        detach: bool = False,
    ) -> None:
        super().__init__(shape, iters=iters)
        self.squash, self.detach = squash, detach
        self.prior = nn.Parameter(torch.zeros(1, 1, 1, shape.i, shape.j)) if prior else None
        self.bias = nn.Parameter(torch.full((shape.j, shape.d_out), bias_init)) if bias else None

    def weight_std(self, maps: int, x: int, y: int) -> float:
        return self.sum_std(1 / self.shape.j, maps, y)

    def step(self, votes: Votes, state: State | None, t: int) -> State:
        q = None if state is None else state.memory
        s, _ = votes.attend(q, self.prior, detach=self.detach)
        v = self.finish(s)
        return State(v, length(v), memory=v if q is None else q + v)

    def finish(self, s: Poses, *_: Tensor) -> Poses:
        return self.squash(s if self.bias is None else s + self.bias)

    def couplings(self, votes: Votes, state: State | None) -> Coupling:
        return votes.attention(None if state is None else state.memory, self.prior)
