"""Inverted dot-product attention: parents compete for the attention of their children."""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from torchcaps.routing._base import Routing
from torchcaps.routing._mixture import Temperature, annealed, evidence, observe
from torchcaps.types import RoutingShape, State
from torchcaps.votes import Coupling, Poses, Votes

Start = Literal["zeros", "random", "learned"]


class InvertedAttention(Routing):
    """r_ij = softmax_j⟨û_ij, p_j⟩, p_j ← LayerNorm(Σ_i r_ij û_ij) (tsai2020, procedure 1, equations 1 to 4).

    Run it under the `concurrent` schedule for the paper's procedure 2; under `sequential` it is ablation B.

    >>> layer = CapsuleLayer(CapsShape((6, 6), 4, 8), n=10, d=16, routing=InvertedAttention)
    >>> layer(Capsules(torch.rand(2, 6, 6, 4, 8), torch.rand(2, 6, 6, 4))).pose.shape, layer.routing.iters
    (torch.Size([2, 1, 1, 10, 16]), 2)

    Args:
        norm: the layer normalisation, shared by capsules, positions and iterations; without it, ablation A.
        scale: whether agreement is divided by √d, as the authors' released code does.
        activations: whether capsules have activations as in EM routing; with them, ablation C.
        start: the parents' poses before the first iteration: "zeros", so that it shares children out alike, "random"
            ones, drawn once from N(0, 1), or "learned" ones, which begin at zero (section 4.1, footnote).
        inverse_temperature: λ of the activations by iteration.
        variance_floor: added to the variance behind the activations.
    """

    def __init__(
        self,
        shape: RoutingShape,
        *,
        iters: int = 2,
        norm: bool = True,
        scale: bool = False,
        activations: bool = False,
        start: Start = "zeros",
        inverse_temperature: Temperature = annealed,
        variance_floor: float = 1e-4,
    ) -> None:
        super().__init__(shape, iters=iters)
        self.norm = nn.LayerNorm(shape.d_out) if norm else nn.Identity()
        if norm and shape.d_out == 1:
            raise ValueError(
                "inverted attention cannot normalise poses of d=1: the layer norm of a single number is constant; "
                "use d > 1 or norm=False"
            )
        if start not in ("zeros", "random", "learned"):
            raise ValueError(f"start={start!r} is not allowed: choose 'zeros', 'random' or 'learned'")
        self.first: Tensor | None
        if start == "learned":
            self.first = nn.Parameter(torch.zeros(shape.j, shape.d_out))
        else:
            self.register_buffer("first", torch.randn(shape.j, shape.d_out) if start == "random" else None)
        self.activates = self.weighs = activations
        self.scale = shape.d_out**-0.5 if scale else 1.0
        self.inverse_temperature, self.variance_floor = inverse_temperature, variance_floor
        self.beta_u = nn.Parameter(torch.zeros(shape.j)) if activations else None
        self.beta_a = nn.Parameter(torch.zeros(shape.j)) if activations else None

    def _query(self, votes: Votes, state: State | None) -> Tensor | None:
        if state is not None:
            return state.pose * self.scale
        return None if self.first is None else self.first.expand(*votes.lead, -1, -1) * self.scale

    def weight_std(self, maps: int, x: int, y: int) -> float:
        """√(parents / (columns · children)), as in the authors' released code."""
        return math.sqrt(self.shape.j / (x * self.shape.i))

    def step(self, votes: Votes, state: State | None, t: int) -> State:
        q = self._query(votes, state)
        if self.beta_u is None or self.beta_a is None:
            s, _ = votes.attend(q)
            pose = self.finish(s)
            return State(pose, torch.ones_like(pose[..., 0]))
        mass, mean, var = observe(votes, query=q)
        z = evidence(mass, 0.5 * (var + self.variance_floor).log(), self.beta_u, self.beta_a)
        return State(self.finish(mean * mass[..., None]), torch.sigmoid(self.inverse_temperature(t) * z))

    def finish(self, s: Poses, *_: Tensor) -> Poses:
        pose: Tensor = self.norm(s)
        return pose

    def couplings(self, votes: Votes, state: State | None) -> Coupling:
        return votes.attention(self._query(votes, state))
