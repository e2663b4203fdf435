"""What every classification loss is: how scores are judged, how they are read, and how the judging changes."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Loss(nn.Module):
    """From class scores and multi-hot targets to a number.

    >>> class Squares(Loss):
    ...     def forward(self, scores, targets):
    ...         return (scores - targets).square().mean()
    >>> Squares()(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor(0.5000)
    """

    threshold: float = 0.0
    """The score above which a class is taken to be there, whatever the others score: logits change sign."""

    def forward(self, scores: Float[Tensor, "b n"], targets: Float[Tensor, "b n"]) -> Float[Tensor, ""]:
        """The loss of scores against targets, 1 for each class present and 0 for the others."""
        raise TypeError(f"{type(self).__name__} must define forward(scores, targets)")

    def probabilities(self, scores: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        """A probability for each class, summing to one: here scores are logits, and this is their softmax."""
        return scores.softmax(-1)

    def anneal(self, share: float) -> None:
        """Told before each step what share of the training is done, from 0 to 1; most losses do not care."""


def shared_out(lengths: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
    """Each length over the sum of all, a negative one as zero; where all are zero every class is as likely.

    >>> shared_out(torch.tensor([[0.6, 0.2, 0.0], [0.0, 0.0, 0.0]]))
    tensor([[0.7500, 0.2500, 0.0000],
            [0.3333, 0.3333, 0.3333]])
    """
    lengths = lengths.clamp_min(0)
    total = lengths.sum(-1, keepdim=True)
    return torch.where(total > 0, lengths / total, 1 / lengths.shape[-1])
