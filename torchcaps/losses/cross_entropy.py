"""Cross entropy, for one class an image."""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from torchcaps.losses._base import Loss
from torchcaps.losses.targets import fitting


class CrossEntropy(Loss):
    """−Σ_k T_k log softmax(scores)_k, averaged over the images.

    >>> CrossEntropy()(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """

    def forward(self, scores: Float[Tensor, "b n"], targets: Float[Tensor, "b n"]) -> Float[Tensor, ""]:
        """The loss of logits (or lengths, as gu2021 has it in table 2) against one-hot targets."""
        targets = fitting(targets, scores)
        return F.cross_entropy(scores, targets)
