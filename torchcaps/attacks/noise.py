"""Random noise as large as an attack's perturbation: the control that every attack must beat."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from torchcaps.attacks._base import Attack, length
from torchcaps.network import Model


@dataclass(frozen=True)
class Noise(Attack):
    """Noise that asks the network nothing: eps up or down for each pixel, or under "l2" eps in a random direction.

    >>> from torchcaps.models import create_model
    >>> net, images = create_model("chen2019/lenet"), torch.full((1, 1, 28, 28), 0.5)
    >>> moved = Noise(2.0, "l2")(net, images, torch.tensor([3])) - images
    >>> round(moved.norm().item(), 4)
    2.0
    """

    name: ClassVar[str] = "noise"

    def search(
        self, model: Model, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"]
    ) -> Float[Tensor, "b c h w"]:
        """Drawn from the seed, whatever the network."""
        drawn = torch.randn(images.shape, generator=torch.Generator().manual_seed(self.seed % 2**63)).to(images)
        return images + self.eps * (drawn.sign() if self.norm == "linf" else drawn / length(drawn))
