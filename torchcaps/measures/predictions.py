"""Which classes a network names, and how often: whether it names one for everything."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from torchcaps.data import Batch, Dataset
from torchcaps.losses import multi_hot
from torchcaps.measures._axes import COLOURS, legend
from torchcaps.measures.accuracy import check_classes
from torchcaps.measures.result import Result, Table
from torchcaps.measures.score import named
from torchcaps.network import Model
from torchcaps.types import Parse, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PredictionsResult(Result):
    """How many images a class was named for, and how many show it."""

    classes: tuple[str, ...]
    named: tuple[int, ...]
    shown: tuple[int, ...]
    images: int

    @property
    def largest(self) -> float:
        """The share of images for which the class that is named most is named."""
        return max(self.named) / self.images

    def table(self) -> Table:
        """A row for each class."""
        rows = [
            (name, f"{n:,}", f"{n / self.images:.2%}", f"{s / self.images:.2%}")
            for name, n, s in zip(self.classes, self.named, self.shown, strict=True)
        ]
        return Table(("class", "named", "of images", "shown"), rows)

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """Two bars for each class."""
        for k, (counts, said, hatch) in enumerate(((self.shown, "shown", ""), (self.named, "named", "//"))):
            at = [c + 0.4 * (k - 0.5) for c in range(len(self.classes))]
            axes.bar(at, [n / self.images for n in counts], 0.38, label=said, color=COLOURS[k], hatch=hatch)
        step = -(-len(self.classes) // 20)
        axes.set_xticks(range(0, len(self.classes), step), self.classes[::step])
        axes.set(title="What is named", xlabel="class", ylabel="share of images")
        legend(axes)


class Predictions:
    """A histogram of the classes that a network names.

    >>> from torchcaps.data import load
    >>> from torchcaps.measures import walk
    >>> from torchcaps.models import create_model
    >>> net, digits = create_model("chen2019/lenet", pretrained=True), load("glyphs", "test", count=50)
    >>> [found] = walk(net, digits, [Predictions()])
    >>> 0.1 <= found.largest <= 1
    True

    Args:
        threshold: see `named`.
    """

    record: Record = "none"

    def __init__(self, threshold: float | None = None) -> None:
        self.threshold = threshold

    def begin(self, model: Model, data: Dataset) -> None:
        """Forget everything."""
        self.classes, self.images = data.classes, 0
        self.named, self.shown = torch.zeros(2, len(data.classes), dtype=torch.long)

    def update(self, parse: Parse, batch: Batch) -> None:
        """Count the classes of a batch."""
        check_classes(parse.scores.shape[-1], self.classes)
        shown = multi_hot(batch.labels.to(parse.scores.device), len(self.classes)).bool()
        self.shown += shown.sum(0).cpu()
        self.named += named(parse.scores, shown.sum(-1), self.threshold).sum(0).cpu()
        self.images += len(shown)

    def result(self) -> PredictionsResult:
        """The histogram."""
        return PredictionsResult(self.classes, tuple(self.named.tolist()), tuple(self.shown.tolist()), self.images)
