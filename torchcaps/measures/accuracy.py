"""How often a network is right, and how sure one can be of that."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from torchcaps.data import Dataset
from torchcaps.infer import infer
from torchcaps.losses import multi_hot
from torchcaps.network import Model

Report = Callable[[int, int], None]
NORMAL_95 = 1.959963984540054


def silent(done: int, total: int) -> None:
    """Progress that nobody wants to hear of: images judged so far, and how many there are."""


class Score(NamedTuple):
    """A share of images that were right.

    Args:
        value: the share, from 0 to 1.
        count: of how many images.
        interval: Wilson's 95 % interval of the share; it speaks of other images, not of other trainings.
    """

    value: float
    count: int  # type: ignore[assignment]  # tuple.count is of no use here
    interval: tuple[float, float]


def accuracy(
    model: Model,
    data: Dataset,
    *,
    batch_size: int = 256,
    epoch: int = 0,
    threshold: float | None = None,
    report: Report = silent,
) -> Score:
    """The share of images whose classes a network names, all of them and no other.

    The network is judged in evaluation mode, on the device and in the precision of its parameters, and left as it was.

    >>> from torchcaps.data import Sign
    >>> from torchcaps.models import create_model
    >>> accuracy(create_model("peer2021/sign"), Sign(count=1000)).count
    1000

    Args:
        data: any data set; where its images show several objects, see `correct`.
        epoch: of a generator, which draws other images in every epoch.
        threshold: see `correct`.
        report: told after each batch how many images are done, of how many.
    """
    total = len(data)
    if total == 0:
        raise ValueError("there are no images to judge by: the data set is empty")
    hits = done = 0
    for images, labels, _ in data.batches(batch_size, epoch=epoch):
        scores = infer(model, images).scores
        if scores.shape[-1] != len(data.classes):
            raise ValueError(f"the model tells {scores.shape[-1]} classes, but the data has {len(data.classes)}")
        hits += int(correct(scores, labels.to(scores.device), threshold).sum())
        done += len(images)
        report(done, total)
    return Score(hits / total, total, wilson(hits, total))


def correct(
    scores: Float[Tensor, "b n"], labels: Int[Tensor, "b k"], threshold: float | None = None
) -> Bool[Tensor, " b"]:
    """Whether the classes a network names are those an image shows.

    It names as many as there are, those with the highest scores, the first of equal ones: one for an image of one
    object, two for a pair of different classes (gu2021, section 3.2), and one again where both labels are the same.
    Scores that are not numbers are never right.

    >>> correct(torch.tensor([[0.1, 0.9, 0.8], [0.2, 0.9, 0.8]]), torch.tensor([[2, 1], [1, 1]]))
    tensor([True, True])

    Args:
        threshold: name instead the classes that score above it, so that the network must also know how many there are
            (DiverseMultiMNIST, tsai2020, section 6): 0 for logits, 0.5 for activations.
    """
    shown = multi_hot(labels, scores.shape[-1]).bool()
    numbers = ~scores.isnan().any(-1)
    if threshold is not None:
        return ((scores > threshold) == shown).all(-1) & numbers
    best_first = scores.argsort(dim=-1, descending=True, stable=True)
    count = shown.sum(-1, keepdim=True)
    among_best = torch.arange(scores.shape[-1], device=scores.device) < count
    found = (shown.gather(-1, best_first) & among_best).sum(-1, keepdim=True)
    return (found == count).all(-1) & numbers


def wilson(hits: int, count: int, z: float = NORMAL_95) -> tuple[float, float]:
    """Wilson's score interval of a share; unlike the normal one it stays between 0 and 1, and is never a point.

    >>> [round(end, 4) for end in wilson(98, 100)]
    [0.93, 0.9945]

    Args:
        z: how many standard errors; the default gives 95 %.
    """
    if not 0 <= hits <= count or count == 0:
        raise ValueError(f"{hits} of {count} is not a share")
    share = hits / count
    centre = share + z * z / (2 * count)
    reach = z * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    width = 1 + z * z / count
    low = 0.0 if hits == 0 else (centre - reach) / width
    high = 1.0 if hits == count else (centre + reach) / width
    return low, high
