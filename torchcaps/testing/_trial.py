"""Small networks in which a routing is tried: every kind of pose and connection, schedule and precision."""

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from torchcaps.functional import identity
from torchcaps.layers import ActivationHead, CapsuleLayer, LinearHead, PrimaryCapsules
from torchcaps.network import CapsNet
from torchcaps.routing import RoutingFactory
from torchcaps.schedule import Schedule, concurrent, sequential
from torchcaps.types import Parse, Record

ROWS = {"vector": 1, "matrix": 2}
WINDOWS: dict[str, dict[str, Any]] = {"connected": {}, "convolutional": {"window": 3, "stride": 1, "padding": 1}}
SWEEPS = 3
SCHEDULES: dict[str, Schedule] = {"sequential": sequential, "concurrent": partial(concurrent, iters=SWEEPS)}
# dtype of the parameters; how far two ways to the same number may differ around the capsule layers, and inside them
PRECISIONS = {
    "float32": (torch.float32, 1e-5, 1e-5),
    "float64": (torch.float64, 1e-12, 1e-12),
    "bfloat16": (torch.float32, 2e-2, 1e-5),
}
GRID, N, D, CLASSES = (3, 4), 2, 6, 3


class Case(NamedTuple):
    """Where a routing is tried: poses, connection, schedule and precision, by name."""

    pose: str
    connection: str
    schedule: str
    precision: str

    def __str__(self) -> str:
        return f"{self.pose} poses, {self.connection} layers, {self.schedule} schedule, {self.precision}"


CASES = tuple(Case(*names) for names in product(ROWS, WINDOWS, SCHEDULES, PRECISIONS))


def small_network(
    factory: RoutingFactory, pose: str = "vector", connection: str = "connected", schedule: str = "sequential"
) -> CapsNet:
    """Two capsule layers above primary capsules that are linear in the image.

    >>> from torchcaps.routing import EM
    >>> small_network(EM, pose="matrix")(torch.rand(2, 12, 3, 4)).scores.shape
    torch.Size([2, 3])
    """
    primary = PrimaryCapsules((N * D, *GRID), n=N, d=D, bias=False, squash=identity)
    hidden = CapsuleLayer(primary.shape_out, 4, D, rows=ROWS[pose], routing=factory, **WINDOWS[connection])
    top = CapsuleLayer(hidden.shape_out, CLASSES, 4, rows=ROWS[pose], routing=factory)
    head = ActivationHead(top.shape_out) if top.routing.activates else LinearHead(top.shape_out)
    return CapsNet(nn.Identity(), primary, [hidden, top], head, schedule=SCHEDULES[schedule])


class Trial:
    """A small network with the routing, in one of the cases."""

    def __init__(self, factory: RoutingFactory, case: Case) -> None:
        self.case = case
        self.dtype, self.around, self.inside = PRECISIONS[case.precision]
        self.build = partial(small_network, factory, case.pose, case.connection, case.schedule)
        self.net = self.build().to(self.dtype)
        self.layers: list[CapsuleLayer] = list(self.net.layers)  # type: ignore[arg-type]

    def images(self, batch: int) -> Tensor:
        """Images of random numbers."""
        return torch.randn(batch, N * D, *GRID).to(self.dtype)

    def run(self, x: Tensor, record: Record = "none") -> Parse:
        """What the network makes of images, in the case's precision."""
        half = self.case.precision == "bfloat16"
        context: AbstractContextManager[None] = torch.autocast("cpu", torch.bfloat16) if half else nullcontext()
        with context:
            parse: Parse = self.net(x, record)
        return parse
