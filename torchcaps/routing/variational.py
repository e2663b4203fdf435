"""Variational Bayes: parents are Gaussians with distributions over their own parameters."""

import math

import torch
from torch import Tensor, nn

from torchcaps.routing._base import Routing
from torchcaps.routing._mixture import Belief, observe, responsibilities
from torchcaps.types import RoutingShape, State
from torchcaps.votes import Coupling, PerParent, Poses, Votes


class Variational(Routing):
    """Variational Bayes routing (Ribeiro et al. 2020, algorithm 1) with a diagonal Wishart scale.

    Priors: Dirichlet(α₀) on the mixing weights, N(0, (κ₀ Λ)⁻¹) on the means, Wishart(Ψ₀ = I, ν₀ = d + 1) on the
    precisions Λ. A parent is active when its expected entropy is low, as in the authors' released code; their batch
    norm on the outputs is left to the network.

    >>> layer = CapsuleLayer(CapsShape((6, 6), 4, 8), n=10, d=16, routing=Variational)
    >>> layer(Capsules(torch.rand(2, 6, 6, 4, 8), torch.rand(2, 6, 6, 4))).pose.shape, layer.routing.iters
    (torch.Size([2, 1, 1, 10, 16]), 3)

    Args:
        alpha0: pseudo-counts of the mixing weights.
        kappa0: pseudo-counts of the means.
        first_in_window: whether the first couplings are one over the parents of a window even where the layer's parents
            compete across the grid. The authors' released convolutional layer has this and `competition="grid"`.
    """

    weighs = True

    def __init__(
        self,
        shape: RoutingShape,
        *,
        iters: int = 3,
        alpha0: float = 1.0,
        kappa0: float = 1.0,
        first_in_window: bool = False,
    ) -> None:
        super().__init__(shape, iters=iters)
        for name, value in (("alpha0", alpha0), ("kappa0", kappa0)):
            if value <= 0:
                raise ValueError(f"{name}={value} is not allowed: it must be positive")
        self.alpha0, self.kappa0, self.nu0 = alpha0, kappa0, shape.d_out + 1
        self.first_in_window = first_in_window
        self.beta_u = nn.Parameter(torch.zeros(shape.j))
        self.beta_a = nn.Parameter(torch.zeros(shape.j))

    def step(self, votes: Votes, state: State | None, t: int) -> State:
        d = self.shape.d_out
        mass, mean, var = observe(self._reach(votes, state), None if state is None else state.memory)
        alpha, kappa, nu = self.alpha0 + mass, self.kappa0 + mass, self.nu0 + mass
        mu = mean * (mass / kappa)[..., None]
        psi = 1 + var * mass[..., None] + (self.kappa0 * mass / kappa)[..., None] * mean * mean
        log_pi = torch.digamma(alpha) - torch.digamma(alpha.sum(-1, keepdim=True))
        degrees = 0.5 * (nu[..., None] - torch.arange(d, dtype=nu.dtype, device=nu.device))
        log_det = (torch.digamma(degrees) - psi.log()).sum(-1) + d * math.log(2)
        belief = Belief(mu, 0.5 * nu[..., None] / psi, log_pi + 0.5 * (log_det - d / kappa))
        entropy = 0.5 * (d * math.log(2 * math.pi * math.e) - log_det)
        act = torch.sigmoid(self.beta_a - (log_pi.exp() * entropy + self.beta_u))
        return State(mu, act, memory=belief)

    def finish(self, s: Poses, mass: PerParent, *_: Tensor) -> Poses:
        return s / (self.kappa0 + mass)[..., None]

    def couplings(self, votes: Votes, state: State | None) -> Coupling:
        return responsibilities(self._reach(votes, state), None if state is None else state.memory)

    def _reach(self, votes: Votes, state: State | None) -> Votes:
        return votes.inside_windows() if state is None and self.first_in_window else votes
