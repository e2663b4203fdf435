"""Losses: of class scores against multi-hot targets, and of reconstructions against images."""

from collections.abc import Callable

from torch import nn

from torchcaps.losses.binary import BinaryCrossEntropy
from torchcaps.losses.cross_entropy import CrossEntropy
from torchcaps.losses.margin import MarginLoss
from torchcaps.losses.reconstruction import ReconstructionLoss
from torchcaps.losses.spread import SpreadLoss
from torchcaps.losses.targets import multi_hot

LOSSES: dict[str, Callable[[], nn.Module]] = {
    "margin": MarginLoss,
    "spread": SpreadLoss,
    "ce": CrossEntropy,
    "bce": BinaryCrossEntropy,
    "bce_lengths": lambda: BinaryCrossEntropy(on="lengths"),
}


def make_loss(name: str) -> nn.Module:
    """A classification loss by name, with its paper's constants.

    >>> make_loss("margin").upper
    0.9
    """
    if name not in LOSSES:
        raise ValueError(f"loss={name!r} is not allowed: choose one of {', '.join(map(repr, LOSSES))}")
    return LOSSES[name]()


__all__ = [
    "LOSSES",
    "BinaryCrossEntropy",
    "CrossEntropy",
    "MarginLoss",
    "ReconstructionLoss",
    "SpreadLoss",
    "make_loss",
    "multi_hot",
]
