"""The spread loss of EM routing."""

from jaxtyping import Float
from torch import Tensor

from torchcaps.losses._base import Loss, shared_out
from torchcaps.losses.targets import fitting


class SpreadLoss(Loss):
    """Σ_{k≠t} max(0, m − (a_t − a_k))², averaged over the images (Hinton et al. 2018, section 5).

    The margin m grows from 0.2 to 0.9 while training goes on.

    >>> loss = SpreadLoss()
    >>> loss.anneal(0.5); round(loss.margin, 2)
    0.55
    """

    threshold = 0.5

    def __init__(self, first: float = 0.2, last: float = 0.9) -> None:
        super().__init__()
        self.first, self.last, self.margin = first, last, first

    def anneal(self, share: float) -> None:
        """Set the margin for a share of the training between 0 and 1."""
        self.margin = self.first + (self.last - self.first) * min(1.0, max(0.0, share))

    def forward(self, scores: Float[Tensor, "b n"], targets: Float[Tensor, "b n"]) -> Float[Tensor, ""]:
        """The loss of activations against one-hot targets."""
        targets = fitting(targets, scores)
        wanted = (scores * targets).sum(-1, keepdim=True)
        short = (self.margin - (wanted - scores)).clamp_min(0) ** 2
        return (short * (1 - targets)).sum(-1).mean()

    def probabilities(self, scores: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        """Scores are lengths: each over the sum of all."""
        return shared_out(scores)
