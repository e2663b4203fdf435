"""The margin loss of capsule networks."""

from jaxtyping import Float
from torch import Tensor

from torchcaps.losses._base import Loss, shared_out
from torchcaps.losses.targets import fitting


class MarginLoss(Loss):
    """Σ_k T_k max(0, m⁺ − ‖v_k‖)² + λ (1 − T_k) max(0, ‖v_k‖ − m⁻)², averaged over the images (gu2021, equation 4).

    >>> MarginLoss()(torch.tensor([[0.9, 0.1]]), torch.tensor([[1.0, 0.0]]))
    tensor(0.)

    Args:
        upper, lower: m⁺ and m⁻, the lengths that satisfy a present and an absent class.
        down_weight: λ, the share of the absent classes.
        logits: whether scores are logits, whose sigmoid stands for the length.
    """

    def __init__(
        self, upper: float = 0.9, lower: float = 0.1, down_weight: float = 0.5, *, logits: bool = False
    ) -> None:
        super().__init__()
        self.upper, self.lower, self.down_weight, self.logits = upper, lower, down_weight, logits
        self.threshold = 0.0 if logits else 0.5

    def forward(self, scores: Float[Tensor, "b n"], targets: Float[Tensor, "b n"]) -> Float[Tensor, ""]:
        """The loss of class scores against targets, 1 for each class present and 0 for the others."""
        targets = fitting(targets, scores)
        scores = scores.sigmoid() if self.logits else scores
        present = (self.upper - scores).clamp_min(0) ** 2
        absent = (scores - self.lower).clamp_min(0) ** 2
        return (targets * present + self.down_weight * (1 - targets) * absent).sum(-1).mean()

    def probabilities(self, scores: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        """Scores are lengths: each over the sum of all."""
        return shared_out(scores.sigmoid() if self.logits else scores)
