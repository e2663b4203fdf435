"""Self-routing: each child decides by itself, from its own pose, where it belongs."""

from typing import Literal

import torch
from torch import Tensor, nn

from torchcaps.routing._base import Routing
from torchcaps.types import RoutingShape, State
from torchcaps.votes import Coupling, PerParent, Poses, Votes

GateInit = Literal["fan_in", "zero"]
EPS = 1e-8


class SelfRouting(Routing):
    """c_i = softmax(W_i u_i), a_j = Σ_i c_ij a_i / Σ_i a_i, u_j = Σ_i c_ij a_i û_ij / Σ_i c_ij a_i (Hahn et al. 2019).

    A single pass without agreement: a mixture of experts whose gate is the child.

    >>> layer = CapsuleLayer(CapsShape((6, 6), 4, 8), n=10, d=16, routing=SelfRouting)
    >>> layer(Capsules(torch.rand(2, 6, 6, 4, 8), torch.rand(2, 6, 6, 4))).pose.shape, layer.routing.iters
    (torch.Size([2, 1, 1, 10, 16]), 1)

    Args:
        bias: whether the gate has a bias, which starts at zero.
        gate_init: the gate's first weights: "fan_in" draws them within ±√(3/d), "zero" leaves every child undecided.
            The authors' released code has `bias=True, gate_init="zero"`.
    """

    weighs = True

    def __init__(self, shape: RoutingShape, *, bias: bool = False, gate_init: GateInit = "fan_in") -> None:
        super().__init__(shape)
        if gate_init not in ("fan_in", "zero"):
            raise ValueError(f"gate_init={gate_init!r} is not allowed: choose 'fan_in' or 'zero'")
        bound = (3 / shape.d_in) ** 0.5 if gate_init == "fan_in" else 0.0
        self.gate = nn.Parameter(torch.empty(shape.i, shape.d_in, shape.j).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(shape.i, shape.j)) if bias else None

    def _logits(self, votes: Votes) -> Coupling:
        logits = torch.einsum("bhwid,idj->bhwij", votes.u, self.gate)
        return logits if self.bias is None else logits + self.bias

    def step(self, votes: Votes, state: State | None, t: int) -> State:
        s, mass = votes.attend(prior=self._logits(votes), weighted=True)
        act = mass / votes.act.sum(-1, keepdim=True).clamp_min(EPS)
        return State(self.finish(s, mass), act)

    def finish(self, s: Poses, mass: PerParent, *_: Tensor) -> Poses:
        return s / mass[..., None].clamp_min(EPS)

    def couplings(self, votes: Votes, state: State | None) -> Coupling:
        return votes.compete(self._logits(votes))
