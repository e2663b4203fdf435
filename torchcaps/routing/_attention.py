"""The couplings of every routing in which a child's parents compete by agreement."""

from jaxtyping import Float
from torch import Tensor

from torchcaps.votes import Votes


def attention(
    votes: Votes,
    query: Float[Tensor, "b h w j d"] | None,
    prior: Float[Tensor, "#b #h #w #i j"] | None = None,
) -> Float[Tensor, "b h w i j"]:
    """Softmax over parents of ⟨û_ij, query_j⟩ + prior_ij: what `Votes.attend` weighs the votes with."""
    logits = votes.score(query=query)
    return votes.compete(logits if prior is None else logits + prior)
