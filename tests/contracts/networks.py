"""Small networks for the contracts, the routing by name."""

import torch

from torchcaps.routing import ROUTINGS
from torchcaps.testing import small_network
from torchcaps.testing._trial import CLASSES, GRID, WINDOWS, D, N

__all__ = ["CLASSES", "GRID", "WINDOWS", "D", "N", "build", "images"]


def build(routing, pose="vector", connection="connected", schedule="sequential", factory=None):
    """Two capsule layers above primary capsules that are linear in the image."""
    return small_network(ROUTINGS[routing] if factory is None else factory, pose, connection, schedule)


def images(batch, scale=1.0, dtype=torch.float32):
    return (torch.randn(batch, N * D, *GRID) * scale).to(dtype)
