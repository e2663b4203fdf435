"""Couplings that are parameters, learned with everything else."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from torchcaps.functional import Squash, length, squash_exp
from torchcaps.routing._base import Routing
from torchcaps.types import RoutingShape, State
from torchcaps.votes import Coupling, Poses, Votes


class Trainable(Routing):
    """v_j = squash(Σ_i c_ij û_ij) with a learned c that need not sum to one (chen2019, section 3.1).

    >>> layer = CapsuleLayer(CapsShape((6, 6), 4, 8), n=10, d=16, routing=Trainable)
    >>> layer(Capsules(torch.rand(2, 6, 6, 4, 8), torch.rand(2, 6, 6, 4))).pose.shape, layer.routing.iters
    (torch.Size([2, 1, 1, 10, 16]), 1)

    Args:
        per_position: whether c differs by the parent's position (supplement, "Conv Caps Routing").
        per_dim: whether c differs by the dimension of the parent's pose (supplement, "FC Caps Routing"). A coupling has
            no dimension, so what is then reported is a mean and not what the step used, as `check_routing` will say.
        squash: (1 − e^−‖s‖) s/‖s‖ in the paper.
    """

    competes = False

    def __init__(
        self,
        shape: RoutingShape,
        *,
        per_position: bool = False,
        per_dim: bool = False,
        squash: Squash = squash_exp,
    ) -> None:
        super().__init__(shape)
        self.squash = squash
        grid = shape.grid if per_position else (1, 1)
        bound = (3 / shape.i) ** 0.5
        size = (*grid, shape.i, shape.j, shape.d_out if per_dim else 1)
        self.c = nn.Parameter(torch.empty(size).uniform_(-bound, bound))

    def coefficients(self) -> Float[Tensor, "#h #w i j #d"]:
        """c, as it is used."""
        return self.c

    def weight_std(self, maps: int, x: int, y: int) -> float:
        return self.sum_std(1 / math.sqrt(self.shape.i), maps, y)

    def step(self, votes: Votes, state: State | None, t: int) -> State:
        s, _ = votes.fold(self.coefficients())
        v = self.finish(s)
        return State(v, length(v))

    def finish(self, s: Poses, *_: Tensor) -> Poses:
        return self.squash(s)

    def couplings(self, votes: Votes, state: State | None) -> Coupling:
        """The learned coefficients; where they differ by dimension, their mean over the dimensions."""
        return self.coefficients().mean(-1).expand(*votes.lead, self.shape.i, self.shape.j)
