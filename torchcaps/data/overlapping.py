"""Two digits, one over the other: MultiMNIST, and with single digits among them DiverseMultiMNIST."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from torchcaps.data._dataset import Batch, Dataset, Stored
from torchcaps.data._random import integers, uniform
from torchcaps.data.augment import crop

SHIFT = 4


class Overlapping(Dataset):
    """Pairs of images of different classes, each shifted by up to 4 pixels, added and clipped (gu2021, section 3.2).

    Sample i shows image i ÷ pairs and a partner of another class. Both objects are kept alone as well.

    >>> from torchcaps.data import load
    >>> batch = Overlapping(load("glyphs", "test", count=50)).batch(torch.arange(2))
    >>> batch.images.shape, batch.labels.shape, batch.singles.shape
    (torch.Size([2, 1, 36, 36]), torch.Size([2, 2]), torch.Size([2, 2, 1, 36, 36]))

    Args:
        source: any stored data set of at least two classes.
        pairs: how many pairs each image leads, 1 to 1000 in the paper.
        single: the share of samples that show one object only, their label given twice (tsai2020, appendix B.2: 1/6).
    """

    def __init__(self, source: Stored, *, pairs: int = 1, single: float = 0.0, seed: int = 0) -> None:
        c, h, w = source.image_shape
        super().__init__(source.classes, (c, h + 2 * SHIFT, w + 2 * SHIFT), seed=seed)
        if len(source.labels.unique()) < 2:
            raise ValueError("overlapping images need a source of at least two classes")
        if pairs < 1:
            raise ValueError(f"pairs={pairs} is not allowed: each image leads at least one pair")
        self.source, self.pairs, self.single = source, pairs, single
        # Sorted by class, the images of other classes are one run that begins behind an image's own class.
        self.order = source.labels.argsort(stable=True)
        self.counts = source.labels.bincount(minlength=len(source.classes))
        self.ends = self.counts.cumsum(0)

    def __len__(self) -> int:
        return len(self.source) * self.pairs

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The pairs as this epoch has them."""
        index = index.to(self.source.images.device)
        lead = index // self.pairs
        partner = self._partner(index, lead, epoch)
        first, second = self._alone(lead, index, epoch, 20), self._alone(partner, index, epoch, 30)
        labels = torch.stack([self.source.labels[lead], self.source.labels[partner]], -1)
        if self.single > 0:
            lonely = uniform(self.seed, epoch, index, 40) < self.single
            second = torch.where(lonely[:, None, None, None], first, second)
            labels[:, 1] = torch.where(lonely, labels[:, 0], labels[:, 1])
            both = torch.where(lonely[:, None, None, None], first, first + second)
        else:
            both = first + second
        return Batch(both.clamp(max=1), labels, torch.stack([first, second], 1))

    def _partner(self, index: Tensor, lead: Tensor, epoch: int) -> Int[Tensor, " b"]:
        """For each sample one of the images of other classes, all equally likely."""
        label = self.source.labels[lead]
        others = len(self.source) - self.counts[label]
        draw = (uniform(self.seed, epoch, index, 41).double() * others).long().clamp(max=others - 1)
        return self.order[(self.ends[label] + draw) % len(self.source)]

    def _alone(self, which: Tensor, index: Tensor, epoch: int, stream: int) -> Float[Tensor, "b c h w"]:
        images = F.pad(self.source.images[which], (2 * SHIFT,) * 4)
        corner = [integers(self.seed, epoch, index, stream + k, 2 * SHIFT + 1) for k in range(2)]
        _, h, w = self.image_shape
        return crop(images, torch.stack(corner, -1), (h, w)).float() / 255
