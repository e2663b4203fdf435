"""Binary cross entropy, for any number of classes an image."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from torchcaps.losses._base import Loss, shared_out
from torchcaps.losses.targets import fitting


class BinaryCrossEntropy(Loss):
    """−Σ_k T_k log p_k + (1 − T_k) log(1 − p_k), averaged over the images (tsai2020, section 4.2; gu2021, section 3.2).

    >>> BinaryCrossEntropy(on="lengths")(torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]]))
    tensor(1.3863)

    Args:
        on: "logits" takes p = sigmoid(score), "lengths" takes the score, a capsule's length, as p.
    """

    def __init__(self, on: Literal["logits", "lengths"] = "logits") -> None:
        super().__init__()
        if on not in ("logits", "lengths"):
            raise ValueError(f"on={on!r} is not allowed: choose 'logits' or 'lengths'")
        self.on = on
        self.threshold = 0.5 if on == "lengths" else 0.0

    def forward(self, scores: Float[Tensor, "b n"], targets: Float[Tensor, "b n"]) -> Float[Tensor, ""]:
        """The loss of scores against multi-hot targets."""
        targets = fitting(targets, scores)
        if self.on == "logits":
            each = F.binary_cross_entropy_with_logits(scores, targets, reduction="none")
        else:
            each = F.binary_cross_entropy(scores.clamp(1e-6, 1 - 1e-6), targets, reduction="none")
        return each.sum(-1).mean()

    def probabilities(self, scores: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
        """Each class by itself is there with p_k; these are shared out, so that they sum to one."""
        if self.on == "lengths":
            return shared_out(scores)
        return F.logsigmoid(scores).softmax(-1)  # σ / Σ σ, also where every σ is as good as zero
