"""One rule by which an image becomes another size, for training, prediction, export and arrays alike."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from einops import rearrange

from torchcaps.data._dataset import Stored

if TYPE_CHECKING:
    from PIL.Image import Image

RULES = {
    "pad": "scaled until the whole image fits, black bars beside it",
    "crop": "scaled until it covers all, what stands over cut off on both sides",
    "squash": "height and width scaled apart",
}
FITS = tuple(RULES)
FILTER = "bilinear, antialiased (Pillow's Image.Resampling.BILINEAR)"


def check_fit(fit: str) -> str:
    """`fit`, if there is such a rule.

    >>> check_fit("crop")
    'crop'
    """
    if fit not in FITS:
        raise ValueError(f"fit={fit!r} is not allowed: choose one of {', '.join(map(repr, FITS))}")
    return fit


def fitted(image: "Image", size: tuple[int, int], fit: str = "pad") -> "Image":
    """A picture at (height, width). Pillow's filter computes in whole numbers: the same bytes on every machine.

    Args:
        image: of grey or colour, a byte a number.
        fit: what becomes of another shape: "pad" keeps all and adds black, "crop" cuts, "squash" distorts.
    """
    from PIL import Image, ImageOps

    (height, width), bilinear = size, Image.Resampling.BILINEAR
    if fit == "pad":
        return ImageOps.pad(image, (width, height), bilinear, color=0)
    if fit == "crop":
        return ImageOps.fit(image, (width, height), bilinear)
    return image.resize((width, height), bilinear)


def resized(data: Stored, size: int, fit: str = "pad") -> Stored:
    """Every image as a square of another size.

    >>> resized(Stored(torch.zeros(2, 1, 28, 28, dtype=torch.uint8), torch.tensor([0, 1]), ("a", "b")), 32).image_shape
    (1, 32, 32)
    """
    from PIL import Image

    if data.image_shape[1:] == (size, size):
        return data
    planes = rearrange(data.images, "n c h w -> (n c) h w").numpy()
    made = np.empty((len(planes), size, size), np.uint8)
    for plane, target in zip(planes, made, strict=True):
        target[:] = np.asarray(fitted(Image.fromarray(plane), (size, size), fit))
    images = rearrange(torch.from_numpy(made), "(n c) h w -> n c h w", c=data.image_shape[0])
    return Stored(images, data.labels, data.classes, seed=data.seed)
