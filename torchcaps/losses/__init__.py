"""Losses, each on a network's class scores."""

from torchcaps.losses.margin import MarginLoss

__all__ = ["MarginLoss"]
