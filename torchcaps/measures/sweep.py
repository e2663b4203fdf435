"""Images under one transformation at a time, from its weakest to its strongest."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Int, Shaped
from torch import Tensor

from torchcaps.data import Batch, Dataset, Stored, Strength, warp
from torchcaps.measures._canvas import canvas, stored
from torchcaps.measures.views import View
from torchcaps.network import Model
from torchcaps.windows import Pair

FACTORS = ("rotation", "shear_x", "shear_y", "scale", "shift_x", "shift_y")
UNITS = {"rotation": "°", "shear_x": "°", "shear_y": "°", "scale": "", "shift_x": " px", "shift_y": " px"}


@dataclass(frozen=True)
class Steps:
    """The values of one factor, in order and symmetric around `still`, at which an image stays as it is."""

    factor: str
    values: tuple[float, ...]
    still: float

    @property
    def middle(self) -> int:
        """Which of the values leaves the image as it is."""
        return len(self.values) // 2

    @property
    def strengths(self) -> tuple[float, ...]:
        """How far each pair of values is from `still`, the weakest first."""
        return tuple(v - self.still for v in self.values[self.middle + 1 :])

    def both(self, k: int) -> tuple[int, int]:
        """Where the two values of strength k stand."""
        return self.middle - 1 - k, self.middle + 1 + k


def steps(factor: str, count: int = 11, strength: Strength | None = None) -> Steps:
    """Equal steps over a factor's affine range (gu2021, section 3.1), its middle among them.

    >>> steps("scale", 5).values
    (0.8, 0.9, 1.0, 1.1, 1.2)

    Args:
        factor: one of `FACTORS`; "scale" is that of height and width together.
        count: an odd number of values.
        strength: of the random warps whose range is taken.
    """
    if factor not in FACTORS:
        raise ValueError(f"factor={factor!r} is not allowed: choose one of {', '.join(map(repr, FACTORS))}")
    if count < 3 or count % 2 == 0:
        raise ValueError(f"count={count} is not allowed: it must be odd, and at least 3")
    reach = Strength() if strength is None else strength
    still = 1.0 if factor == "scale" else 0.0
    most = {"rotation": reach.rotation, "shear": reach.shear, "shift": reach.translation, "scale": reach.scale[1] - 1}
    far = most[factor.split("_")[0]]
    half = count // 2
    return Steps(factor, tuple(round(still + far * k / half, 10) for k in range(-half, half + 1)), still)


def single(factor: str, value: float) -> warp.Warp:
    """The warp of one transformation alone: angles in degrees, shifts in pixels, right and down.

    >>> single("shift_x", 3.0).shift
    tensor([[3., 0.]])
    """
    matrix, shift = torch.eye(2), torch.zeros(2)
    if factor == "rotation":
        cos, sin = math.cos(math.radians(value)), math.sin(math.radians(value))
        matrix = torch.tensor([[cos, -sin], [sin, cos]])
    elif factor == "scale":
        matrix = matrix * value
    elif factor.startswith("shear"):
        matrix["xy".index(factor[-1]), "yx".index(factor[-1])] = math.tan(math.radians(value))
    else:
        shift["xy".index(factor[-1])] = value
    return warp.Warp(matrix[None], shift[None])


class Swept(Dataset):
    """Every image at every value of every factor: factor by factor, image by image, its values in a row.

    Batches hold all values of an image, so that a measure can compare them. A transformation is only itself: images are
    not shrunk to fit, and what leaves the canvas is cut.

    Args:
        source: the images.
        size: height and width of the canvas.
        sweeps: the values of each factor, as many for each.
    """

    def __init__(self, source: Stored, size: tuple[int, int], sweeps: tuple[Steps, ...]) -> None:
        super().__init__(source.classes, (source.image_shape[0], *size), seed=source.seed)
        self.source, self.sweeps, self.group = source, sweeps, len(sweeps[0].values)
        warps = [single(sweep.factor, value) for sweep in sweeps for value in sweep.values]
        self.warps = warp.Warp(torch.cat([w.matrix for w in warps]), torch.cat([w.shift for w in warps]))

    def __len__(self) -> int:
        return len(self.sweeps) * len(self.source) * self.group

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The samples, warped."""
        per_factor = len(self.source) * self.group
        which = index // per_factor * self.group + index % self.group
        images, labels, _ = self.source.batch(index % per_factor // self.group, epoch)
        chosen = warp.Warp(*(part.to(images.device)[which.to(images.device)] for part in self.warps))
        _, h, w = self.image_shape
        return Batch(warp.apply(images, chosen, (h, w)).clamp(0, 1), labels)

    def batches(self, size: int, *, epoch: int = 0, shuffle: bool = False, start: int = 0) -> Iterator[Batch]:
        """An epoch in batches of whole images, at least one: `size` is rounded down to a multiple of the values."""
        if shuffle:
            raise ValueError("shuffle=True is not allowed: the values of an image stand in a row")
        return super().batches(max(1, size // self.group) * self.group, epoch=epoch, start=start)


class Groups:
    """For a measure that walks over `Swept` data: which factor each image of a batch belongs to.

    Args:
        data: of the walk; anything but `Swept` is refused.
        what: the measure.
    """

    def __init__(self, data: Dataset, what: str) -> None:
        if not isinstance(data, Swept):
            raise ValueError(
                f"{what!r} follows images through single transformations, but {type(data).__name__} shows each once: "
                f"walk over swept()(model, data)"
            )
        self.data, self.seen = data, 0

    def split(self, *values: Shaped[Tensor, "b ..."]) -> Iterator[tuple[int, list[Shaped[Tensor, "g v ..."]]]]:
        """For each factor of a batch its number, and each tensor with images and their values as axes."""
        parts = [rearrange(t, "(g v) ... -> g v ...", v=self.data.group) for t in values]
        images = len(parts[0])
        factor = torch.arange(self.seen, self.seen + images) // len(self.data.source)
        self.seen += images
        for f in factor.unique().tolist():
            yield f, [part[(factor == f).to(part.device)] for part in parts]


def swept(
    factors: tuple[str, ...] = FACTORS,
    count: int = 11,
    *,
    strength: Strength | None = None,
    image_size: Pair | None = None,
) -> View:
    """The view for measures that follow an image through single transformations.

    At 40×40, MNIST's digits stay on the canvas; at 28×28 the strongest shifts and shears cut them.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> view = swept(("rotation",), count=5)
    >>> len(view(create_model("chen2019/lenet"), load("glyphs", "test", count=10)))
    50

    Args:
        factors: which transformations.
        count: how many values of each, over its affine range.
        strength: of the random warps whose range is taken; the paper's if not given.
        image_size: height and width the network takes; by default as its recipe has it, or the data.
    """
    sweeps = tuple(steps(factor, count, strength) for factor in factors)

    def view(model: Model, data: Dataset) -> Swept:
        source = stored(data, "sweep")
        return Swept(source, canvas(model, data, source, image_size), sweeps)

    return view
