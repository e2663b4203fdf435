"""How few numbers of a class capsule carry a transformation (gu2021, section 3.3)."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps.data import Batch, Dataset
from torchcaps.measures._axes import COLOURS, GREY, legend
from torchcaps.measures._moments import Moments
from torchcaps.measures.result import Nothing, Result, Table, number
from torchcaps.measures.sweep import UNITS, Groups
from torchcaps.network import Model
from torchcaps.types import Parse, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class FactorCompactness:
    """KL divergence in nats from the normalised variances to uniform ones, over images.

    Attributes:
        values: of the factor, at which each image was shown.
        mean, deviation: over the images whose capsule moves at all; None if there is none.
        still: how many images' capsules do not move, which are left out.
    """

    factor: str
    values: tuple[float, ...]
    mean: float | None
    deviation: float | None
    images: int
    still: int


@dataclass(frozen=True)
class CompactnessResult(Result):
    """Every factor, for class capsules of `dims` numbers; log `dims` is the most there can be."""

    dims: int
    factors: tuple[FactorCompactness, ...]

    def table(self) -> Table:
        """A row for each factor."""
        rows = [
            (
                f.factor.replace("_", " "),
                f"{f.values[0]:g} … {f.values[-1]:g}{UNITS[f.factor]}",
                number(f.mean, 4),
                number(f.deviation, 4),
                f"{f.images:,}",
                f"{f.still:,}",
            )
            for f in self.factors
        ]
        most = f"Nats, mean over images; the most is log {self.dims} = {math.log(self.dims):.4f}."
        return Table(("factor", "range", "compactness", "deviation", "images", "still"), rows, most)

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """A bar for each factor with the deviation over images, and the most there can be."""
        at = range(len(self.factors))
        means = [f.mean or 0.0 for f in self.factors]
        axes.bar(at, means, yerr=[f.deviation or 0.0 for f in self.factors], color=COLOURS[0], ecolor=GREY, capsize=3)
        axes.axhline(
            math.log(self.dims), color=COLOURS[1], linestyle="--", label=f"one dimension alone: log {self.dims}"
        )
        axes.set_xticks(at, [f.factor.replace("_", " ") for f in self.factors], rotation=20)
        axes.set(title="Semantic compactness", ylabel="KL to uniform (nats)")
        axes.set_ylim(bottom=0)
        legend(axes)


class Compactness:
    """KL(Var_n ‖ uniform) of the true class's capsule while one factor moves, for a walk over `swept` images.

    Each image is shown at every value of the factor; the variances of the capsule's numbers, divided by their sum, are
    compared with 1/d. The score is the mean over images; where nothing moves there is none, and the image is counted.
    A network with grouped units (gu2021's ConvNet-R and -CR) has the group of a class as its capsule.

    >>> from torchcaps.data import load
    >>> from torchcaps.measures import swept, walk
    >>> from torchcaps.models import create_model
    >>> net = create_model("mitterreiter2023/capsnet", pretrained=True)
    >>> data = swept(("rotation",), count=3)(net, load("glyphs", "test", count=5))
    >>> walk(net, data, [Compactness()])[0].dims
    8
    """

    record: Record = "none"

    def begin(self, model: Model, data: Dataset) -> None:
        """Forget everything."""
        self.groups = Groups(data, "compactness")
        self.why, self.dims = "", 0
        self.moments = [Moments() for _ in self.groups.data.sweeps]

    def update(self, parse: Parse, batch: Batch) -> None:
        """See how the capsules of a batch's true classes move."""
        if not parse.capsules:
            self.why = "the network has no class capsules"
            return
        pose = rearrange(parse.capsules[-1].pose, "b 1 1 n d -> b n d")
        self.dims = pose.shape[-1]
        label = batch.labels[:, 0].to(pose.device)
        for f, [poses] in self.groups.split(pose[torch.arange(len(pose), device=pose.device), label]):
            found = divergence(poses)
            self.moments[f].update(found[~found.isnan()])

    def result(self) -> CompactnessResult | Nothing:
        """Every factor, or why there is none."""
        if self.why:
            return Nothing("compactness", self.why)
        images = len(self.groups.data.source)
        factors = []
        for sweep, moments in zip(self.groups.data.sweeps, self.moments, strict=True):
            n = moments.count
            mean, deviation = (float(moments.mean), float(moments.std)) if n else (None, None)
            factors.append(FactorCompactness(sweep.factor, sweep.values, mean, deviation, n, images - n))
        return CompactnessResult(self.dims, tuple(factors))


def divergence(poses: Float[Tensor, "g v d"]) -> Float[Tensor, " g"]:
    """KL from the normalised variances over v to uniform ones, in nats; NaN where nothing moves.

    >>> divergence(torch.tensor([[[0.0, 1.0], [0.0, 2.0]]])).exp()  # one of two dimensions: log 2
    tensor([2.], dtype=torch.float64)
    """
    moved = poses.double() - poses[:, :1].double()  # exactly zero where nothing moves
    share = moved.var(1, correction=0)
    share = share / share.sum(-1, keepdim=True)
    found: Tensor = torch.special.xlogy(share, share * share.shape[-1]).sum(-1)
    return found
