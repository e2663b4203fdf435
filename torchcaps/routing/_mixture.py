"""What the mixture-of-Gaussians routings share: a belief about the votes, and its moments."""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from torchcaps.votes import Coupling, PerParent, Poses, Votes

Temperature = Callable[[int], float]

EPS = 1e-8


class Belief(NamedTuple):
    """The Gaussian each parent holds about its votes: log p_j(û) = logit − Σ_d precision · (û − centre)²."""

    centre: Poses
    precision: Poses
    logit: PerParent


def annealed(t: int, final: float = 0.01) -> float:
    """The inverse temperature λ of iteration t: 1 − 0.95^(t+1) of its final value (Hinton et al. 2018).

    >>> round(annealed(0), 6), round(annealed(2), 6)
    (0.0005, 0.001426)
    """
    return final * (1 - 0.95 ** (t + 1))


def observe(votes: Votes, belief: Belief | None = None, query: Poses | None = None) -> tuple[PerParent, Poses, Poses]:
    """Mass, mean and variance of the votes under R_ij = a_i · softmax over parents of the belief (or agreement).

    Second moments are taken around the previous mean, since raw ones cancel; any centre gives the same function.
    """
    if belief is None:
        s, mass = votes.constant().fold(votes.uniform(), weighted=True)
        centre = s / mass[..., None].clamp_min(EPS)
        mass, first, second = votes.moments(centre, query=query, weighted=True)
    else:
        centre = belief.centre
        prior = belief.logit[..., None, :]
        mass, first, second = votes.moments(centre, precision=belief.precision, prior=prior, weighted=True)
    total = mass[..., None].clamp_min(EPS)
    shift = first / total
    return mass, centre + shift, (second / total - shift * shift).clamp_min(0)


def evidence(mass: PerParent, log_sigma: Poses, beta_u: Float[Tensor, " j"], beta_a: Float[Tensor, " j"]) -> PerParent:
    """β_a − Σ_h (β_u + log σ_h) Σ_i R_ij, the logit of a parent's activation (Hinton et al. 2018, procedure 1)."""
    return beta_a - (log_sigma.shape[-1] * beta_u + log_sigma.sum(-1)) * mass


def responsibilities(votes: Votes, belief: Belief | None) -> Coupling:
    """The E-step: how much of each child each parent explains, before the child's activation."""
    if belief is None:
        return votes.uniform()[..., 0].expand(*votes.lead, votes.children, votes.j)
    exponent = votes.score(centre=belief.centre, precision=belief.precision)
    return votes.compete(exponent + belief.logit[..., None, :])
