"""How well an image can be drawn again from its class capsules."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from torchcaps.types import Parse


class ReconstructionLoss(nn.Module):
    """weight · Σ over pixels of (reconstruction − image)², averaged over the images.

    The weight multiplies the **sum** over an image's pixels (Sabour et al. 2017); against their mean it would be 784 to
    1600 times weaker. An image of several objects is drawn once for each, from that object's capsule, against the image
    of that object alone (gu2021, section 3.2).

    >>> ReconstructionLoss().weight
    0.0005
    """

    def __init__(self, weight: float = 0.0005) -> None:
        super().__init__()
        self.weight = weight

    def forward(
        self, decoder: nn.Module, parse: Parse, labels: Int[Tensor, "b k"], images: Float[Tensor, "b k c h w"]
    ) -> Float[Tensor, ""]:
        """The loss of `decoder`'s drawings, one for each label, against one image for each label."""
        total = images.new_zeros(())
        for k in range(labels.shape[1]):
            error = (decoder(parse, labels[:, k]) - images[:, k]) ** 2
            total = total + error.sum((1, 2, 3)).mean()
        return self.weight * total
