"""How often a network is right, image by image, and what it answers."""

from typing import Any

from torchcaps.bench.evidence import Number
from torchcaps.bench.judges._images import shown
from torchcaps.bench.subject import Found, Subject
from torchcaps.data import Dataset, Overlapping
from torchcaps.measures import Accuracy, AccuracyResult, walk
from torchcaps.measures.accuracy import usual_threshold


def accuracy(
    subject: Subject,
    *,
    view: str = "clean",
    on: str = "",
    count: int = 0,
    split: str = "test",
    data: dict[str, Any] | None = None,
    **options: Any,
) -> Found:
    """The outcome of every image, and how often each class was answered.

    Args:
        view: what is made of the images: "clean", "affine" or "overlap".
        on: the name of the number; the view's if empty.
        count: how many images; 0 for all.
        split: "test", or "train" where the paper tells training accuracy.
        data: options of the data set, over those of the training.
        options: of the view.
    """
    model = subject.own.model
    seen = shown(subject, view, count, split=split, data=data, **options)
    [found] = walk(model, seen, [Accuracy(usual_threshold(model, seen))])
    if not isinstance(found, AccuracyResult):
        raise TypeError(f"{found} is not an accuracy")
    right = found.right.numpy()
    histogram = [sum(row[k] for row in found.confusion) for k in range(len(found.classes))]
    return Found({on or view: Number.share(right, answers(seen), sources(seen))}, {f"answers/{on or view}": histogram})


def answers(data: Dataset) -> int:
    """Among how many answers chance would choose: classes, pairs of them, or both.

    >>> from torchcaps.data import load
    >>> answers(load("multi_mnist", "test", source="glyphs"))
    45
    """
    n, inner = len(data.classes), _unframed(data)
    if not isinstance(inner, Overlapping):
        return n
    return n * (n - 1) // 2 + (n if inner.single else 0)


def sources(data: Dataset) -> int:
    """How many images in a row show the same source image first: the pairs that each leads.

    >>> from torchcaps.data import load
    >>> sources(load("multi_mnist", "test", source="glyphs", pairs=3)), sources(load("glyphs", "test"))
    (3, 1)
    """
    inner = _unframed(data)
    return inner.pairs if isinstance(inner, Overlapping) else 1


def _unframed(data: Dataset) -> Dataset:
    inner: Dataset = getattr(data, "data", data)  # a frame around other images
    return inner
