"""From class scores to probabilities, as the loss a network was trained with reads its scores."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from torchcaps.losses import BinaryCrossEntropy, MarginLoss, SpreadLoss
from torchcaps.model import Model


def probabilities(model: Model, scores: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
    """A probability for each class, summing to one; the class with the highest score has the highest.

    Cross entropy (and a loss of one's own) reads logits: their softmax. Margin and spread loss read lengths: each
    length over the sum of all, a negative one as zero. Binary cross entropy says of each class by itself how likely it
    is there, by a sigmoid or by a length: these are shared out in the same way. Lengths that are all zero say nothing:
    every class is as likely. What comes out ranks classes and compares images; it is not calibrated.

    >>> from torchcaps.baseline import ConvNet
    >>> probabilities(ConvNet(nn.Identity(), loss=MarginLoss()), torch.tensor([[0.6, 0.2, 0.0]]))
    tensor([[0.7500, 0.2500, 0.0000]])
    >>> probabilities(ConvNet(nn.Identity()), torch.tensor([[0.0, 0.0]]))
    tensor([[0.5000, 0.5000]])
    """
    loss = model.loss
    if isinstance(loss, BinaryCrossEntropy) and loss.on == "logits":
        return F.logsigmoid(scores).softmax(-1)  # σ / Σ σ, also where every σ is as good as zero
    if not isinstance(loss, MarginLoss | SpreadLoss | BinaryCrossEntropy):
        return scores.softmax(-1)
    lengths = scores.clamp_min(0)
    total = lengths.sum(-1, keepdim=True)
    return torch.where(total > 0, lengths / total, 1 / scores.shape[-1])
