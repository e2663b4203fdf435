"""What steps came to, on its way from the device: nobody waits for it, and it is looked at a few steps later.

Until then the device itself remembers whether a loss was not finite. From that step on no update is made, so that the
weights are still those that gave it when the host hears of it.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.data import Batch

LATE = {"cuda": 4}
"""Steps that the host may be ahead, by device. Where it computes itself there is nobody to wait for."""


class Told(NamedTuple):
    """Of a step: its mean loss and hits, how many images it had in all, and this process's part of them."""

    step: int
    loss: float
    hits: float
    images: int
    batch: Batch


class Pending:
    """Steps that were not yet looked at, oldest first.

    Args:
        device: that computes them.
    """

    def __init__(self, device: torch.device) -> None:
        self.late = LATE.get(device.type, 0)
        self.broken: Float[Tensor, ""] | None = None
        self._steps = deque[tuple[int, Tensor, torch.cuda.Event | None, int, Batch]]()

    def add(self, step: int, found: Float[Tensor, "2"], images: int, batch: Batch) -> None:
        """A step's mean loss and hits, wherever they are."""
        if self.late:
            bad = (~torch.isfinite(found[0])).float()
            self.broken = bad if self.broken is None else torch.maximum(self.broken, bad)
        arrived = torch.cuda.Event() if found.is_cuda else None
        home = found.to("cpu", non_blocking=True)
        if arrived is not None:
            arrived.record()
        self._steps.append((step, home, arrived, images, batch))

    def told(self, *, ahead: int = 0) -> Iterator[Told]:
        """The steps that are due, which leaves at most `ahead` of them for later."""
        while len(self._steps) > ahead:
            step, home, arrived, images, batch = self._steps.popleft()
            if arrived is not None:
                arrived.synchronize()
            loss, hits = home.tolist()
            yield Told(step, loss, hits, images, batch)
