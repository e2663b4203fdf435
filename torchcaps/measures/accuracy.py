"""How often a network is right, on which images, and which classes it takes for which."""

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from torchcaps.data import Batch, Dataset, Overlapping
from torchcaps.losses import Loss, multi_hot
from torchcaps.measures._axes import heat_map
from torchcaps.measures.result import Result, Table
from torchcaps.measures.score import Score, named
from torchcaps.measures.walk import Progress, silent, walk
from torchcaps.network import Model
from torchcaps.types import Parse, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class AccuracyResult(Result):
    """How many images were right, which, and which classes were taken for which.

    Attributes:
        threshold: above which a class was named; None where as many were named as an image shows.
        outcomes: a bit for each image in the order of the data, 1 where it was right, as base64 of whole bytes.
        shown: how many images show each class.
        confusion: a row for each class shown, a column for each class named. A class that is shown and named counts on
            the diagonal; one that is missed counts under every class that was named wrongly, so nowhere if there is
            none.
    """

    classes: tuple[str, ...]
    hits: int
    count: int
    threshold: float | None
    outcomes: str
    shown: tuple[int, ...]
    confusion: tuple[tuple[int, ...], ...]

    @property
    def score(self) -> Score:
        """The share of images that were right."""
        return Score.of(self.hits, self.count)

    @property
    def right(self) -> Bool[Tensor, " images"]:
        """Whether each image was right, in the order of the data."""
        packed = np.frombuffer(base64.b64decode(self.outcomes), dtype=np.uint8)
        return torch.from_numpy(np.unpackbits(packed, count=self.count).astype(bool))

    @property
    def by_class(self) -> dict[str, Score]:
        """For each class that is shown, the share of its images in which it was named."""
        rows = zip(self.classes, self.shown, strict=True)
        return {name: Score.of(self.confusion[k][k], shown) for k, (name, shown) in enumerate(rows) if shown}

    def table(self) -> Table:
        """All images, and those of each class."""
        scores = {"all": self.score, **self.by_class}
        rows = [(name, f"{s.value:.2%}", "{:.2%} – {:.2%}".format(*s.interval), f"{s.count:,}") for name, s in
                scores.items()]  # fmt: skip
        how = "" if self.threshold is None else f"A class is named if it scores above {self.threshold:g}."
        return Table(("class", "accuracy", "95 % interval", "images"), rows, how)

    def draw(self, axes: "Axes", panel: int = 0) -> None:
        """The confusion matrix, each row as shares of the images that show its class."""
        shares = [[c / max(1, shown) for c in row] for row, shown in zip(self.confusion, self.shown, strict=True)]
        heat_map(axes, shares, self.classes, self.classes, vmax=1.0)
        axes.set(title=f"Accuracy {self.score.value:.1%}", xlabel="named", ylabel="shown")


class Accuracy:
    """The share of images whose classes a network names, all of them and no other; see `named`.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> [found] = walk(create_model("chen2019/lenet", pretrained=True), load("glyphs", "test", count=50), [Accuracy()])
    >>> found.count, len(found.classes)
    (50, 10)

    Args:
        threshold: name the classes that score above it, instead of as many as an image shows.
    """

    record: Record = "none"

    def __init__(self, threshold: float | None = None) -> None:
        self.threshold = threshold

    def begin(self, model: Model, data: Dataset) -> None:
        """Forget everything."""
        n = len(data.classes)
        self.classes, self.right = data.classes, list[Tensor]()
        self.shown, self.confusion = torch.zeros(n, dtype=torch.long), torch.zeros(n, n, dtype=torch.long)

    def update(self, parse: Parse, batch: Batch) -> None:
        """Judge a batch."""
        scores = parse.scores
        check_classes(scores.shape[-1], self.classes)
        shown = multi_hot(batch.labels.to(scores.device), scores.shape[-1]).bool()
        said = named(scores, shown.sum(-1), self.threshold)
        self.right.append((said == shown).all(-1).cpu())
        found, missed, wrong = (part.double().cpu() for part in (shown & said, shown & ~said, said & ~shown))
        pairs = missed.T @ wrong  # shares no class with the diagonal
        self.confusion += (torch.diag(found.sum(0)) + pairs).long()
        self.shown += shown.sum(0).cpu()

    def result(self) -> AccuracyResult:
        """Hits, outcomes and confusions."""
        right = torch.cat(self.right)
        return AccuracyResult(
            classes=self.classes,
            hits=int(right.sum()),
            count=len(right),
            threshold=self.threshold,
            outcomes=base64.b64encode(np.packbits(right.numpy()).tobytes()).decode(),
            shown=tuple(self.shown.tolist()),
            confusion=tuple(map(tuple, self.confusion.tolist())),
        )


def accuracy(
    model: Model,
    data: Dataset,
    *,
    batch_size: int = 256,
    epoch: int = 0,
    threshold: float | None = None,
    progress: Progress = silent,
) -> Score:
    """The share of images whose classes a network names, all of them and no other.

    >>> from torchcaps.data import Sign
    >>> from torchcaps.models import create_model
    >>> accuracy(create_model("peer2021/sign"), Sign(count=1000)).count
    1000

    Args:
        data: any data set; where its images show several objects, all must be named.
        epoch: of a generator, which draws other images in every epoch.
        threshold: see `named`.
        progress: told after each batch how many images are done, of how many.
    """
    judge = Accuracy(threshold)
    walk(model, data, [judge], batch_size=batch_size, epoch=epoch, progress=progress)
    return judge.result().score


def usual_threshold(model: Model, data: Dataset) -> float | None:
    """The threshold that data asks for: where images show one object or two, a network must know how many there are.

    That is DiverseMultiMNIST (tsai2020, section 6). How high the threshold is depends on what the loss reads.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> digits = load("glyphs", "test", count=50)
    >>> usual_threshold(create_model("chen2019/lenet"), digits) is None
    True
    >>> usual_threshold(create_model("chen2019/lenet"), Overlapping(digits, single=0.5))
    0.0
    """
    if isinstance(data, Overlapping) and 0 < data.single < 1:
        return model.loss.threshold if isinstance(model.loss, Loss) else 0.0
    return None


def check_classes(told: int, classes: tuple[str, ...]) -> None:
    """Refuse a network that tells more classes than the data has, or fewer."""
    if told != len(classes):
        raise ValueError(f"the model tells {told} classes, but the data has {len(classes)}")
