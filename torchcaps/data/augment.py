"""The papers' augmentations: shifts by up to two pixels, padded crops, flips."""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.nn import functional as F

from torchcaps.data._dataset import Batch, Dataset
from torchcaps.data._random import integers


def crop(
    images: Shaped[Tensor, "b c h w"], corner: Int[Tensor, "b 2"], size: tuple[int, int]
) -> Shaped[Tensor, "b c h2 w2"]:
    """From each image the window of a size whose top left corner is its own.

    >>> crop(torch.arange(4).reshape(1, 1, 2, 2), torch.tensor([[1, 0]]), (1, 2))
    tensor([[[[2, 3]]]])
    """
    windows = images.unfold(2, size[0], 1).unfold(3, size[1], 1)
    return windows[torch.arange(len(images), device=images.device), :, corner[:, 0], corner[:, 1]]


def shifted(images: Float[Tensor, "b c h w"], by: Int[Tensor, "b 2"], most: int) -> Float[Tensor, "b c h w"]:
    """Each image moved by its own number of pixels, down and right, at most `most`; black comes in.

    >>> shifted(torch.ones(1, 1, 2, 2), torch.tensor([[1, 0]]), 1)
    tensor([[[[0., 0.],
              [1., 1.]]]])
    """
    return crop(F.pad(images, (most,) * 4), most - by, (images.shape[2], images.shape[3]))


class Augmented(Dataset):
    """Another data set with random shifts and flips, new in every epoch.

    >>> from torchcaps.data import load
    >>> digits = Augmented(load("glyphs", "test", count=10))
    >>> torch.equal(digits.batch(torch.arange(9), epoch=1).images, digits.batch(torch.arange(9), epoch=2).images)
    False

    Args:
        shift: pixels in each direction: 2 for MNIST (Sabour et al. 2017), 4 for CIFAR's padded crops (tsai2020, A.2).
        flip: whether half of the images are mirrored.
    """

    def __init__(self, data: Dataset, *, shift: int = 2, flip: bool = False) -> None:
        super().__init__(data.classes, data.image_shape, seed=data.seed)
        self.data, self.shift, self.flip = data, shift, flip

    def __len__(self) -> int:
        return len(self.data)

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The samples, augmented as this epoch has it."""
        images, labels, singles = self.data.batch(index, epoch)
        if singles is not None:
            raise ValueError("images of several objects are drawn with shifts of their own and are not augmented")
        index = index.to(images.device)
        by = [integers(self.seed, epoch, index, 900 + k, 2 * self.shift + 1) - self.shift for k in range(2)]
        images = shifted(images, torch.stack(by, -1), self.shift)
        if self.flip:
            mirrored = integers(self.seed, epoch, index, 902, 2).bool()
            images = torch.where(mirrored[:, None, None, None], images.flip(-1), images)
        return Batch(images, labels)


AUGMENTATIONS: dict[str, Callable[[Dataset], Dataset]] = {
    "none": lambda data: data,
    "shift": partial(Augmented, shift=2),
    "crop_flip": partial(Augmented, shift=4, flip=True),
}
"""By name: shifts by up to two pixels (Sabour et al. 2017, MNIST); padded by four, cropped, flipped (tsai2020, A.2)."""
