"""Expectation maximisation: parents are Gaussians that explain their children's votes."""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from torchcaps.functional import length
from torchcaps.routing._base import Routing
from torchcaps.routing._mixture import EPS, Belief, Temperature, annealed, evidence, observe, responsibilities
from torchcaps.types import RoutingShape, State
from torchcaps.votes import Coupling, PerParent, Poses, Votes

Output = Literal["mean", "length"]

# The direction of a one-dimensional μ has no gradient but where μ turns over; this is how wide that place is.
UNIT_EPS = 1e-4


class EM(Routing):
    """EM routing (Hinton et al. 2018, procedure 1; peer2021, algorithm 2), in log space with a variance floor.

    A bias on the votes (peer2021, section 4.2) is the layer's `vote_bias`.

    >>> layer = CapsuleLayer(CapsShape((6, 6), 4, 8), n=10, d=16, routing=EM)
    >>> layer(Capsules(torch.rand(2, 6, 6, 4, 8), torch.rand(2, 6, 6, 4))).pose.shape, layer.routing.iters
    (torch.Size([2, 1, 1, 10, 16]), 3)

    Args:
        output: the parents' poses: "mean" gives μ_j; "length" gives a_j μ_j/‖μ_j‖, whose length is the activation, for
            vector capsules whose activation is their length (peer2021).
        inverse_temperature: λ by iteration.
        variance_floor: added to each σ², as Gritzman 2019 advises.
        unit_eps: added to ‖μ_j‖ under "length". It keeps the gradient of a short μ_j in bounds, and makes the pose
            shorter than its activation: by 1 to 2 % at most when peer2021's network starts, more where μ_j is shorter
            than there. The authors' released code has 1e-8.
        beta_std: deviation of the first β_u and β_a; zero leaves them at zero, the authors of peer2021 draw them with
            that of the weights.
    """

    weighs = True

    def __init__(
        self,
        shape: RoutingShape,
        *,
        iters: int = 3,
        output: Output = "mean",
        inverse_temperature: Temperature = annealed,
        variance_floor: float = 1e-4,
        unit_eps: float = UNIT_EPS,
        beta_std: float = 0.0,
    ) -> None:
        super().__init__(shape, iters=iters)
        if output not in ("mean", "length"):
            raise ValueError(f"output={output!r} is not allowed: choose 'mean' or 'length'")
        for name, value in (("variance_floor", variance_floor), ("unit_eps", unit_eps)):
            if value <= 0:
                raise ValueError(f"{name}={value} is not allowed: it must be positive")
        self.output, self.inverse_temperature, self.variance_floor = output, inverse_temperature, variance_floor
        self.unit_eps = unit_eps
        self.beta_u, self.beta_a = (nn.Parameter(_normal(shape.j, beta_std)) for _ in range(2))

    def step(self, votes: Votes, state: State | None, t: int) -> State:
        mass, mu, var = observe(votes, None if state is None else state.memory)  # the E-step is inside the moments
        inverse = (var + self.variance_floor).reciprocal()
        log_sigma = -0.5 * inverse.log()
        z = self.inverse_temperature(t) * evidence(mass, log_sigma, self.beta_u, self.beta_a)
        log_p = F.logsigmoid(z) - log_sigma.sum(-1) - 0.5 * self.shape.d_out * math.log(2 * math.pi)
        belief = Belief(mu, 0.5 * inverse, log_p)
        act = torch.sigmoid(z)
        return State(self._pose(mu, act), act, memory=belief)

    def _pose(self, mu: Poses, act: PerParent) -> Poses:
        return mu if self.output == "mean" else act[..., None] * mu / (length(mu)[..., None] + self.unit_eps)

    def finish(self, s: Poses, mass: PerParent, act: PerParent, /) -> Poses:
        return self._pose(s / mass[..., None].clamp_min(EPS), act)

    def couplings(self, votes: Votes, state: State | None) -> Coupling:
        return responsibilities(votes, None if state is None else state.memory)


def _normal(n: int, std: float) -> Tensor:
    return torch.randn(n) * std if std else torch.zeros(n)
