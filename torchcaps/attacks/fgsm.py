"""The fast gradient sign method: one step, as far as allowed."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from torchcaps.attacks._art import BATCH, ORDERS, array, classifier, find_loss, toolbox
from torchcaps.attacks._base import Attack
from torchcaps.losses import multi_hot
from torchcaps.network import Model


@dataclass(frozen=True)
class FGSM(Attack):
    """x + eps · sign ∇ loss, or under "l2" eps along the gradient (Goodfellow et al. 2015; chen2019, section 4.3).

    >>> from torchcaps.models import create_model
    >>> net, images = create_model("chen2019/lenet", pretrained=True), torch.full((1, 1, 28, 28), 0.5)
    >>> moved = FGSM(0.1)(net, images, torch.tensor([3])) - images
    >>> round(moved.abs().max().item(), 4)
    0.1

    Args:
        loss: what is made large: a name of `torchcaps.losses.LOSSES`, any module of scores and multi-hot targets, or
            "own", the loss the network was trained with. Cross entropy of the scores, whatever they are, by default:
            the margin loss has no gradient at all where an image is classified well, 56 % of MNIST's under the shipped
            CapsNet, and hides the way from every attack that follows it.
    """

    name: ClassVar[str] = "fgsm"
    loss: str | nn.Module = "ce"

    def search(
        self, model: Model, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"]
    ) -> Float[Tensor, "b c h w"]:
        """One step of ART's FastGradientMethod."""
        with toolbox(self.seed):
            from art.attacks.evasion import FastGradientMethod  # type: ignore[import-untyped]

            target = classifier(model, images, find_loss(model, self.loss), (0.0, 1.0) if self.clip else None)
            step = FastGradientMethod(target, norm=ORDERS[self.norm], eps=self.eps, eps_step=self.eps, batch_size=BATCH)
            return torch.from_numpy(step.generate(array(images), array(multi_hot(labels, target.nb_classes))))
