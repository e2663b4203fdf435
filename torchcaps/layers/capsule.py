"""A layer of capsules: windows, votes, routing."""

from typing import Literal

import torch
from einops import repeat
from jaxtyping import Float
from torch import Tensor, nn

from torchcaps.routing import Dynamic, RoutingFactory
from torchcaps.types import CapsShape, Capsules, RoutingShape, State
from torchcaps.votes import Votes
from torchcaps.windows import Pair, Windows

Share = Literal["none", "position", "all"]
Competition = Literal["window", "grid"]


class CapsuleLayer(nn.Module):
    """Capsules above other capsules. Fully connected is a window as large as the grid; a vector is one row.

    The vote of a child pose M for a parent is M W (+ b), rows kept, columns mapped. The layer computes in the precision
    of its parameters, whatever autocast does around it.

    >>> layer = CapsuleLayer(CapsShape((6, 6), 32, 8), n=10, d=16)
    >>> layer.shape_out, layer.weight.numel()
    (CapsShape(grid=(1, 1), n=10, d=16), 1474560)

    Args:
        below: the shape of the children.
        n: parents a position.
        d: size of a parent's pose; the child's if not given.
        rows: of a pose, child's and parent's alike: 1 for vectors, 4 for 4×4 matrices.
        window, stride, padding: of the convolution; no window means the whole grid. Padded children cast no vote.
        share: "none" gives each child of a window its own maps, "position" one per type of child, "all" one for all.
        vote_bias: whether a learned vector of each parent is added to its votes (peer2021, section 4.2).
        competition: whether a child's parents compete inside a window or across the grid (Hinton et al. 2018).
        init_std: deviation of the first weights and first value of the vote bias; √(parents / (columns · children)), as
            the authors of tsai2020 have it, if not given.
        routing: builds the routing for this layer's shape.
    """

    def __init__(
        self,
        below: CapsShape,
        n: int,
        d: int | None = None,
        *,
        rows: int = 1,
        window: Pair | None = None,
        stride: Pair = 1,
        padding: Pair = 0,
        share: Share = "none",
        vote_bias: bool = False,
        competition: Competition = "window",
        init_std: float | None = None,
        routing: RoutingFactory = Dynamic,
    ) -> None:
        super().__init__()
        d = below.d if d is None else d
        _check(n, rows, {"child": below.d, "parent": d}, share, competition)
        self.windows = Windows(below.grid, below.n, window=window, stride=stride, padding=padding)
        self.shape_in, self.shape_out = below, CapsShape(self.windows.grid_out, n, d)
        self.rows, self.share, self.competition = rows, share, competition
        i, x, y = self.windows.i, below.d // rows, d // rows
        maps = {"none": i, "position": below.n, "all": 1}[share]
        std = (n / (x * i)) ** 0.5 if init_std is None else init_std
        # Three axes, so that nn.Module.to(memory_format=channels_last) leaves the weight alone.
        self.weight = nn.Parameter(torch.randn(maps, x, n * y) * std)
        self.bias = nn.Parameter(torch.full((n, d), std)) if vote_bias else None
        self.routing = routing(RoutingShape(self.shape_out.grid, i, n, below.d, d))

    def maps(self) -> Float[Tensor, "i x jy"]:
        """For each child of a window its maps to all parents, shared ones repeated."""
        if self.share == "none":
            return self.weight
        return repeat(self.weight, "n x jy -> (k n) x jy", k=self.windows.i // self.weight.shape[0])

    def votes(self, below: Capsules) -> Votes:
        """What the children say to every parent position."""
        with torch.autocast(self.weight.device.type, enabled=False):
            u, act = (self.windows.gather(t.to(self.weight.dtype)) for t in below)
            n, grid_wide = self.shape_out.n, self.competition == "grid"
            return Votes(u, act, self.maps(), self.bias, n, self.rows, self.windows, grid_wide)

    def step(self, votes: Votes, state: State | None, t: int, *, record: bool = False) -> State:
        """One iteration of the routing; with `record`, its couplings stay in the state."""
        with torch.autocast(self.weight.device.type, enabled=False):
            after = self.routing.step(votes, state, t)
            if not record:
                return after
            return after._replace(coupling=votes.weigh(self.routing.couplings(votes, state)))

    def extra_repr(self) -> str:
        return (
            f"{self.shape_in} -> {self.shape_out}, rows={self.rows}, window={self.windows.window}, share={self.share!r}"
        )


def _check(n: int, rows: int, sizes: dict[str, int], share: str, competition: str) -> None:
    if n < 1 or rows < 1:
        raise ValueError(f"n={n}, rows={rows} is not allowed: both must be at least 1")
    for who, d in sizes.items():
        if d < 1 or d % rows:
            raise ValueError(f"the {who}'s pose of d={d} cannot have rows={rows}: d must be a multiple of rows")
    if share not in ("none", "position", "all"):
        raise ValueError(f"share={share!r} is not allowed: choose 'none', 'position' or 'all'")
    if competition not in ("window", "grid"):
        raise ValueError(f"competition={competition!r} is not allowed: choose 'window' or 'grid'")
