"""Digits on a larger canvas: placed at random, or warped."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from torchcaps.data import warp
from torchcaps.data._dataset import Batch, Dataset, Stored
from torchcaps.data._random import integers
from torchcaps.data.augment import crop

TRIES = 8


class Placed(Dataset):
    """Each image at a random place of a black canvas, otherwise as it is (gu2021's training images).

    >>> from torchcaps.data import load
    >>> Placed(load("glyphs", "test", count=10), canvas=36).batch(torch.arange(2)).images.shape
    torch.Size([2, 1, 36, 36])

    Args:
        source: any stored data set.
        canvas: height and width of the result.
    """

    def __init__(self, source: Stored, *, canvas: int = 40, seed: int = 0) -> None:
        c, h, w = source.image_shape
        if canvas < max(h, w):
            raise ValueError(f"canvas={canvas} is not allowed: the images are {h}×{w}")
        super().__init__(source.classes, (c, canvas, canvas), seed=seed)
        self.source = source

    def __len__(self) -> int:
        return len(self.source)

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The samples, placed as this epoch has it."""
        images, labels, _ = self.source.batch(index, epoch)
        room_h, room_w = (s - o for s, o in zip(self.image_shape[1:], self.source.image_shape[1:], strict=True))
        index = index.to(images.device)
        down = integers(self.seed, epoch, index, 10, room_h + 1)
        right = integers(self.seed, epoch, index, 11, room_w + 1)
        framed = F.pad(images, (room_w, room_w, room_h, room_h))
        corner = torch.stack([room_h - down, room_w - right], -1)
        return Batch(crop(framed, corner, self.image_shape[1:]), labels)


class Affine(Dataset):
    """Each image warped at random on a larger canvas, with no ink lost: *affine MNIST*.

    Warps are drawn again, up to eight times, until the ink fits; what then still does not fit is shrunk until it does.

    >>> from torchcaps.data import load
    >>> Affine(load("glyphs", "test", count=10)).batch(torch.arange(2)).images.shape
    torch.Size([2, 1, 40, 40])

    Args:
        source: any stored data set.
        canvas: height and width of the result.
        strength: of the warps.
    """

    def __init__(
        self, source: Stored, *, canvas: int = 40, strength: warp.Strength | None = None, seed: int = 0
    ) -> None:
        super().__init__(source.classes, (source.image_shape[0], canvas, canvas), seed=seed)
        self.source, self.canvas = source, canvas
        self.strength = warp.Strength() if strength is None else strength
        self.corners = _corners(source)

    def __len__(self) -> int:
        return len(self.source)

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The samples, warped as this epoch has it."""
        images, labels, _ = self.source.batch(index, epoch)
        chosen = self.warps(index.to(images.device), epoch)
        return Batch(warp.apply(images, chosen, (self.canvas, self.canvas)).clamp(0, 1), labels)

    def warps(self, index: Int[Tensor, " b"], epoch: int) -> warp.Warp:
        """For each index the first of its random warps that keeps the ink on the canvas."""
        corners = self.corners[index]
        chosen = warp.draw(self.strength, self.seed, epoch, index, stream=1)
        for attempt in range(2, TRIES + 1):
            again = warp.draw(self.strength, self.seed, epoch, index, stream=attempt)
            fits = self._reach(chosen, corners) <= self.canvas / 2
            chosen = warp.Warp(
                torch.where(fits[:, None, None], chosen.matrix, again.matrix),
                torch.where(fits[:, None], chosen.shift, again.shift),
            )
        shrink = (self.canvas / 2 / self._reach(chosen, corners)).clamp(max=1)
        return warp.Warp(chosen.matrix * shrink[:, None, None], chosen.shift * shrink[:, None])

    @staticmethod
    def _reach(chosen: warp.Warp, corners: Float[Tensor, "b 4 2"]) -> Float[Tensor, " b"]:
        """How far from the centre the ink gets, along the axis where it gets farthest."""
        moved = torch.einsum("bij,bkj->bki", chosen.matrix, corners) + chosen.shift[:, None]
        return moved.abs().amax((1, 2))


def _corners(source: Stored) -> Float[Tensor, "n 4 2"]:
    """The corners of each image's ink, in pixels from the centre, half a pixel of blur included."""
    ink = source.images.amax(1) > 0
    _, h, w = source.image_shape

    def ends(lit: Tensor, size: int) -> tuple[Tensor, Tensor]:
        first = lit.float().argmax(-1)
        last = size - lit.flip(-1).float().argmax(-1)
        return first - size / 2 - 0.5, last - size / 2 + 0.5

    top, bottom = ends(ink.any(-1), h)
    left, right = ends(ink.any(-2), w)
    pairs = [(left, top), (right, top), (left, bottom), (right, bottom)]
    return torch.stack([torch.stack([x, y], -1) for x, y in pairs], 1)
