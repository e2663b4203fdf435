"""Losses: of class scores against multi-hot targets, and of reconstructions against images."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torchcaps.losses._base import Loss
from torchcaps.losses.binary import BinaryCrossEntropy
from torchcaps.losses.cross_entropy import CrossEntropy
from torchcaps.losses.margin import MarginLoss
from torchcaps.losses.reconstruction import ReconstructionLoss
from torchcaps.losses.spread import SpreadLoss
from torchcaps.losses.targets import multi_hot

LOSSES: dict[str, Callable[..., Loss]] = {
    "margin": MarginLoss,
    "spread": SpreadLoss,
    "ce": CrossEntropy,
    "bce": BinaryCrossEntropy,
    "bce_lengths": partial(BinaryCrossEntropy, on="lengths"),
}


def make_loss(name: str, **options: Any) -> Loss:
    """A classification loss by name, with its paper's constants unless options say otherwise.

    >>> make_loss("margin", down_weight=1.0).probabilities(torch.tensor([[0.3, 0.1]]))
    tensor([[0.7500, 0.2500]])
    """
    if name not in LOSSES:
        raise ValueError(f"loss={name!r} is not allowed: choose one of {', '.join(map(repr, LOSSES))}")
    try:
        return LOSSES[name](**options)
    except TypeError as error:
        given = ", ".join(f"{key}={value!r}" for key, value in options.items())
        raise ValueError(f"loss={name!r} cannot be made with {given}: {error}") from error


__all__ = [
    "LOSSES",
    "BinaryCrossEntropy",
    "CrossEntropy",
    "Loss",
    "MarginLoss",
    "ReconstructionLoss",
    "SpreadLoss",
    "make_loss",
    "multi_hot",
]
