"""Robustness against affine transformations: how often a network is right on warped images."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from torchcaps.data import Batch, Dataset, Strength
from torchcaps.measures import views
from torchcaps.measures._axes import COLOURS, line_style
from torchcaps.measures.accuracy import accuracy, check_classes
from torchcaps.measures.result import Result, Table
from torchcaps.measures.score import Score, correct
from torchcaps.measures.sweep import UNITS, Groups
from torchcaps.measures.walk import Progress, silent
from torchcaps.network import Model
from torchcaps.types import Parse, Record
from torchcaps.windows import Pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def affine(
    model: Model,
    data: Dataset,
    *,
    strength: Strength | None = None,
    image_size: Pair | None = None,
    seed: int = 0,
    batch_size: int = 256,
    progress: Progress = silent,
) -> Score:
    """Accuracy on images that are rotated, sheared, scaled and moved at random (gu2021, section 3.1).

    The paper's setting is a network for 40×40 and digits of 28×28: trained on digits that are only placed (the data set
    `placed_mnist`), judged here on warped ones. Figures of networks that are not larger than the images compare with
    one another, not with the paper's; `views.affine` says why.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> net = create_model("gu2021/convnet_avg", width=0.02)
    >>> affine(net, load("glyphs", "test", count=50)).count
    50

    Args:
        data: stored images, or a generator such as `Placed` whose stored images are taken.
        strength, image_size, seed: of the warps, see `views.affine`.
        progress: told after each batch how many images are done, of how many.
    """
    warped = views.affine(strength, image_size=image_size, seed=seed)(model, data)
    return accuracy(model, warped, batch_size=batch_size, progress=progress)


@dataclass(frozen=True)
class Curve:
    """Accuracy at each value of one transformation.

    Attributes:
        hits: how many of the images were right at each value.
    """

    factor: str
    values: tuple[float, ...]
    hits: tuple[int, ...]


@dataclass(frozen=True)
class AffineCurvesResult(Result):
    """A curve for each transformation, over the same images."""

    images: int
    curves: tuple[Curve, ...]

    def table(self) -> Table:
        """A row for each transformation: its weakest value, its strongest, and what lies between."""
        rows = []
        for curve in self.curves:
            shares = [f"{hits / self.images:.1%}" for hits in curve.hits]
            ends = f"{curve.values[0]:g} … {curve.values[-1]:g}{UNITS[curve.factor]}"
            rows.append((curve.factor.replace("_", " "), ends, *shares))
        between = (str(k - len(self.curves[0].values) // 2) for k in range(len(self.curves[0].values)))
        return Table(("factor", "range", *between), rows, f"{self.images:,} images at each value.")

    @property
    def panels(self) -> int:
        """One for each transformation."""
        return len(self.curves)

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """Accuracy against the value, with Wilson's 95 % interval."""
        curve = self.curves[panel]
        scores = [Score.of(hits, self.images) for hits in curve.hits]
        low, high = ([s.interval[end] for s in scores] for end in (0, 1))
        axes.fill_between(curve.values, low, high, color=COLOURS[0], alpha=0.25)
        axes.plot(curve.values, [s.value for s in scores], **line_style(0))
        name = curve.factor.replace("_", " ")
        axes.set(title=f"Accuracy by {name}", xlabel=f"{name}{_unit(curve.factor)}", ylim=(-0.03, 1.03))


def _unit(factor: str) -> str:
    return f" ({UNITS[factor].strip()})" if UNITS[factor] else ""


class AffineCurves:
    """Accuracy as a curve over the strength of each single transformation, for a walk over `swept` images.

    >>> from torchcaps.data import load
    >>> from torchcaps.measures import swept, walk
    >>> from torchcaps.models import create_model
    >>> net = create_model("chen2019/lenet", pretrained=True)
    >>> data = swept(("rotation",), count=3)(net, load("glyphs", "test", count=10))
    >>> [found] = walk(net, data, [AffineCurves()])
    >>> found.curves[0].factor, len(found.curves[0].values)
    ('rotation', 3)
    """

    record: Record = "none"

    def begin(self, model: Model, data: Dataset) -> None:
        """Forget everything."""
        self.groups = Groups(data, "affine curves")
        self.hits = torch.zeros(len(self.groups.data.sweeps), self.groups.data.group, dtype=torch.long)

    def update(self, parse: Parse, batch: Batch) -> None:
        """Judge each image at each value."""
        check_classes(parse.scores.shape[-1], self.groups.data.classes)
        right = correct(parse.scores, batch.labels.to(parse.scores.device))
        for f, [part] in self.groups.split(right):
            self.hits[f] += part.sum(0).cpu()

    def result(self) -> AffineCurvesResult:
        """The curves."""
        data = self.groups.data
        both = zip(data.sweeps, self.hits.tolist(), strict=True)
        curves = tuple(Curve(sweep.factor, sweep.values, tuple(hits)) for sweep, hits in both)
        return AffineCurvesResult(len(data.source), curves)
