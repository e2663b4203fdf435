"""The nouns of the library, and the one legend of letters used everywhere.

    b batch · h w grid · n capsules at a position · d pose (flat)
    i children in a window · j parents at a position · a rows · x y columns of a pose
    k positions of a window · p windows that hold a child · m instances, the flattened (h w b) of a fused pass

A vector pose is a matrix pose with one row, so a pose travels flat (`d`) and only the votes split
it into rows and columns. A fully connected layer is a convolutional one whose window is the grid.
"""

from typing import Any, Literal, NamedTuple

from jaxtyping import Float
from torch import Tensor

Record = Literal["none", "last", "all"]
RECORDS: tuple[Record, ...] = ("none", "last", "all")


def check_record(record: str) -> None:
    """Refuse a record that is none of the three.

    >>> check_record("last")
    """
    if record not in RECORDS:
        raise ValueError(f"record={record!r} is not allowed: choose one of {', '.join(map(repr, RECORDS))}")


def keeps(record: Record, t: int, iters: int) -> bool:
    """Whether the couplings of iteration `t`, counted from 0, stay in its state.

    >>> keeps("last", 1, 3), keeps("last", 2, 3)
    (False, True)
    """
    return record == "all" or (record == "last" and t == iters - 1)


class Capsules(NamedTuple):
    """The capsules of one layer for a batch of images: what they look like, and whether they are there."""

    pose: Float[Tensor, "b h w n d"]
    act: Float[Tensor, "b h w n"]


class CapsShape(NamedTuple):
    """The shape of a layer's capsules, threaded from layer to layer.

    >>> CapsShape(grid=(6, 6), n=32, d=8).children
    1152
    """

    grid: tuple[int, int]
    n: int
    d: int

    @property
    def children(self) -> int:
        """How many capsules the layer holds in all."""
        return self.grid[0] * self.grid[1] * self.n


class RoutingShape(NamedTuple):
    """What a routing is built for: the parents' grid, children per window, parents per position, pose sizes."""

    grid: tuple[int, int]
    i: int
    j: int
    d_in: int
    d_out: int


class State(NamedTuple):
    """What one routing step leaves behind; `memory` is the routing's own, `coupling` is kept on request."""

    pose: Float[Tensor, "b h w j d"]
    act: Float[Tensor, "b h w j"]
    memory: Any = None
    coupling: Float[Tensor, "b h w i j"] | None = None

    @property
    def capsules(self) -> Capsules:
        """The state as the children of the next layer."""
        return Capsules(self.pose, self.act)


class Parse(NamedTuple):
    """How a network understood a batch: class scores and, as far as `record` asked, what led to them.

    `capsules` ends with the class capsules and, unless `record="none"`, begins with the primary ones;
    `couplings[k]` leads from `capsules[k]` to `capsules[k + 1]`. `history[k]` holds every iteration of
    layer k under `record="all"`. A network without capsules leaves the lists empty.
    """

    scores: Float[Tensor, "b n"]
    capsules: list[Capsules]
    couplings: list[Tensor]
    history: list[list[State]]
