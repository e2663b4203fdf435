"""Reconstructions while one number of a class capsule moves (Sabour et al. 2017, figure 4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from torchcaps.report._png import png, strip
from torchcaps.report._section import Section


@dataclass(frozen=True)
class Drawing:
    """An image, its reconstruction, and the reconstructions under perturbation.

    Attributes:
        label: the class whose capsule is moved.
        image, plain: the image and what the decoder makes of it (channels, height, width).
        dims: for each row, which dimension moves.
        rows: dimension × delta × channels × height × width.
        deltas: what is added, for each column.
        length: of the capsule as it is, for scale.
    """

    label: str
    image: Tensor
    plain: Tensor
    dims: Sequence[int]
    rows: Tensor
    deltas: Sequence[float]
    length: float

    @property
    def pictures(self) -> list[tuple[str, str]]:
        """Image and reconstruction, with what they are."""
        return [("image", png(self.image)), ("reconstruction", png(self.plain))]

    @property
    def strips(self) -> list[tuple[int, str]]:
        """For each dimension its row of pictures, cut to where the reconstruction has ink."""
        down, across = ink(self.plain)
        rows = self.rows[..., down, across]
        return [(dim, png(strip(row))) for dim, row in zip(self.dims, rows, strict=True)]

    @property
    def ends(self) -> tuple[str, str, str]:
        """What stands over the first, the middle and the last column."""
        return f"{self.deltas[0]:+.2f}".replace("-", "−"), "0", f"{self.deltas[-1]:+.2f}"


def ink(image: Float[Tensor, "c h w"], margin: int = 4) -> tuple[slice, slice]:
    """Rows and columns of the smallest square window around what is bright, with a margin; everything if nothing is.

    >>> image = torch.zeros(1, 30, 30)
    >>> image[0, 10:14, 20:22] = 1
    >>> ink(image)
    (slice(6, 18, None), slice(15, 27, None))
    >>> ink(torch.zeros(1, 30, 30))
    (slice(None, None, None), slice(None, None, None))
    """
    bright = image.amax(0) > 0.5 * image.max()
    lit = [bright.any(1).nonzero().flatten().tolist(), bright.any(0).nonzero().flatten().tolist()]
    if not all(lit):
        return slice(None), slice(None)
    side = max(places[-1] - places[0] + 1 for places in lit) + 2 * margin
    window = []
    for places, size in zip(lit, image.shape[1:], strict=True):
        start = max(0, min((places[0] + places[-1] + 1 - side) // 2, size - side))
        window.append(slice(start, min(size, start + side)))
    return window[0], window[1]


@dataclass(frozen=True, kw_only=True)
class Perturbations(Section):
    """For each drawing, a row of pictures for each dimension."""

    template: ClassVar[str] = "perturbations.html"
    title: str = "What a capsule's dimensions mean"
    note: str = (
        "The decoder draws the image again from the capsule of its class. Each row is a dimension of that capsule: "
        "from left to right something is added to this one number, in the units of the pose, and all others stay as "
        "they are. The dimensions that change the drawing most come first."
    )
    network: str
    drawings: Sequence[Drawing]
