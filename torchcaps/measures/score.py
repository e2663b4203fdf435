"""When an image counts as right, and how sure one can be of a share."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from torchcaps.losses import multi_hot

NORMAL_95 = 1.959963984540054


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

    @classmethod
    def of(cls, hits: int, count: int) -> "Score":
        """So many of so many.

        >>> Score.of(1, 2).value
        0.5
        """
        return cls(hits / count, count, wilson(hits, count))


def correct(
    scores: Float[Tensor, "b n"], labels: Int[Tensor, "b k"], threshold: float | None = None
) -> Bool[Tensor, " b"]:
    """Whether the classes a network names are those an image shows.

    >>> correct(torch.tensor([[0.1, 0.9, 0.8], [0.2, 0.9, 0.8]]), torch.tensor([[2, 1], [1, 1]]))
    tensor([True, True])

    Args:
        threshold: see `named`.
    """
    shown = multi_hot(labels, scores.shape[-1]).bool()
    return (named(scores, shown.sum(-1), threshold) == shown).all(-1)


def named(
    scores: Float[Tensor, "b n"], count: Int[Tensor, " b"], threshold: float | None = None
) -> Bool[Tensor, "b n"]:
    """The classes that a network names.

    It names as many as an image shows, those with the highest scores, the first of equal ones: one for an image of one
    object, two for a pair of different classes (gu2021, section 3.2), and one again where both labels are the same.
    Where scores are not numbers it names none.

    >>> named(torch.tensor([[0.1, 0.9, 0.8]]), torch.tensor([2]))
    tensor([[False,  True,  True]])

    Args:
        count: how many classes each image shows.
        threshold: name instead the classes that score above it, so that the network must also know how many there are
            (DiverseMultiMNIST, tsai2020, section 6): 0 for logits, 0.5 for activations.
    """
    numbers = ~scores.isnan().any(-1, keepdim=True)
    if threshold is not None:
        return (scores > threshold) & numbers
    best_first = scores.argsort(dim=-1, descending=True, stable=True)
    among_best = torch.arange(scores.shape[-1], device=scores.device) < count[:, None]
    return torch.zeros_like(among_best).scatter(-1, best_first, among_best) & numbers


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
