"""A cross-check: the weights that a training kept, judged anew by the validation images of its own split."""

from torchcaps.bench.evidence import Number
from torchcaps.bench.judges.trajectory import at, points
from torchcaps.bench.subject import Found, Subject, held_out
from torchcaps.measures import Accuracy, AccuracyResult, walk
from torchcaps.measures.accuracy import usual_threshold


def validation(subject: Subject) -> Found:
    """Of the last weights kept: the accuracy that the training "noted", the one "found" anew, and how many images lie
    "apart". Where rounding differs a few may."""
    point, data = points(subject)[-1], held_out(subject.own.settings)
    if len(data) != point.total:
        raise ValueError(f"the training was judged by {point.total} images, and its split has {len(data)}")
    model = at(subject, point).own.model
    [found] = walk(model, data, [Accuracy(usual_threshold(model, data))])
    if not isinstance(found, AccuracyResult):
        raise TypeError(f"{found} is not an accuracy")
    right = int(found.right.sum())
    numbers = {"noted": point.accuracy, "found": right / point.total, "apart": float(abs(right - point.right))}
    return Found({name: Number(value) for name, value in numbers.items()})
