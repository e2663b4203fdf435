"""Computing features: in evaluation mode, a few images at a time, as CPUs like it best."""

import copy
from collections.abc import Sequence

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from torchcaps.backbones._trunk import Trunk

BATCH = 16
"""Of images; larger ones leave a core's cache and take twice the time for each image."""


class Computer:
    """A backbone and images in memory, a byte a number; called with places it gives their maps.

    >>> from torchcaps.backbones import Preprocessing
    >>> trunk = Trunk("mine", [nn.Conv2d(3, 8, 2, 2)], Preprocessing(4, [0.5], [0.5]), channels=8)
    >>> compute = Computer(trunk, torch.zeros(5, 3, 4, 4, dtype=torch.uint8))
    >>> compute.shape, compute([3, 4]).shape
    ((8, 2, 2), torch.Size([2, 8, 2, 2]))
    """

    def __init__(self, trunk: Trunk, images: UInt8[Tensor, "n c h w"]) -> None:
        self.trunk = copy.deepcopy(trunk).eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.images = images
        _, c, h, w = self([0]).shape
        self.shape = c, h, w

    def __call__(self, places: Sequence[int]) -> Float[Tensor, "n c h w"]:
        """On the backbone's device, and back."""
        found = list[Tensor]()
        with torch.no_grad():
            for index in torch.tensor(places, dtype=torch.long).split(BATCH):
                images = (self.images[index].float() / 255).to(self.trunk.mean)
                maps = self.trunk(images.contiguous(memory_format=torch.channels_last))
                found.append(maps.float().cpu().contiguous())
        return torch.cat(found)
