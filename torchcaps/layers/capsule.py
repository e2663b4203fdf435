"""A layer of capsules: windows, votes, routing."""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch
from einops import rearrange, repeat
from jaxtyping import Float
from torch import Tensor, nn

from torchcaps.routing import Dynamic, RoutingFactory
from torchcaps.types import CapsShape, Capsules, Record, RoutingShape, State, keeps
from torchcaps.votes import Votes
from torchcaps.windows import Pair, Windows

Share = Literal["none", "position", "all"]
Competition = Literal["window", "grid"]
Compat = Literal["none", "apple"]


class CapsuleLayer(nn.Module):
    """Capsules above other capsules. Fully connected is a window as large as the grid; a vector is one row.

    The vote of a child pose M for a parent is M W (+ b), rows kept, columns mapped. Autocast around the
    layer does not reach inside: forward, it computes in the precision of its parameters. As torch advises, call
    `backward` outside of autocast.

    >>> layer = CapsuleLayer(CapsShape((6, 6), 32, 8), n=10, d=16)
    >>> layer.shape_out, layer.weight.numel()
    (CapsShape(grid=(1, 1), n=10, d=16), 1474560)
    >>> layer(Capsules(pose=torch.rand(2, 6, 6, 32, 8), act=torch.rand(2, 6, 6, 32))).pose.shape
    torch.Size([2, 1, 1, 10, 16])

    Args:
        below: the shape of the children.
        n: parents per position.
        d: size of a parent's pose; the child's if not given.
        rows: of a pose, child's and parent's alike: 1 for vectors, 4 for 4×4 matrices.
        window, stride, padding: of the convolution; no window means the whole grid. Padded children cast no vote.
        share: "none" gives each child of a window its own maps, "position" one per type of child, "all" one for all.
        vote_bias: whether a learned vector of each parent is added to its votes (peer2021, section 4.2).
        competition: whether a child's parents compete inside a window or across the grid (Hinton et al. 2018).
        compat: "apple" mixes up poses and positions as the released code of tsai2020 does in its convolutional layers.
        init_std: deviation of the first weights and first value of the vote bias (peer2021 has both alike); if not
            given, the deviation that suits the routing, and 0.1.
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
        compat: Compat = "none",
        init_std: float | None = None,
        routing: RoutingFactory = Dynamic,
    ) -> None:
        super().__init__()
        d = below.d if d is None else d
        _check(n, rows, {"child": below.d, "parent": d}, share, competition, compat)
        self.windows = Windows(below.grid, below.n, window=window, stride=stride, padding=padding)
        self.shape_in, self.shape_out = below, CapsShape(self.windows.grid_out, n, d)
        self.rows, self.share, self.competition, self.compat = rows, share, competition, compat
        i, x, y = self.windows.i, below.d // rows, d // rows
        maps = {"none": i, "position": below.n, "all": 1}[share]
        self.routing = routing(RoutingShape(self.shape_out.grid, i, n, below.d, d))
        std = self.routing.weight_std(maps, x, y) if init_std is None else init_std
        # Three axes, so that nn.Module.to(memory_format=channels_last) leaves the weight alone.
        self.weight = nn.Parameter(torch.randn(maps, x, n * y) * std)
        self.bias = nn.Parameter(torch.full((n, d), 0.1 if init_std is None else init_std)) if vote_bias else None

    def forward(self, below: Capsules) -> Capsules:
        """The parents, routed to the end."""
        return self.route(below)[-1].capsules

    def route(self, below: Capsules, record: Record = "none") -> list[State]:
        """The states of as many iterations as the routing asks for; without `record="all"` the last one only."""
        iters = self.routing.iters
        votes = self.votes(below, steps=iters)
        states: list[State] = []
        for t in range(iters):
            before = states[-1] if states else None
            states.append(self.step(votes, before, t, record=keeps(record, t, iters)))
        return states if record == "all" else states[-1:]

    def maps(self) -> Float[Tensor, "i x jy"]:
        """For each child of a window its maps to all parents, shared ones repeated."""
        if self.share == "none":
            return self.weight
        return repeat(self.weight, "n x jy -> (k n) x jy", k=self.windows.i // self.weight.shape[0])

    def votes(self, below: Capsules, *, steps: int = 1) -> Votes:
        """What the children say to every parent position, for so many iterations to listen to."""
        if below.pose.shape[1:] != (*self.shape_in.grid, self.shape_in.n, self.shape_in.d):
            raise ValueError(
                f"the layer was built for {self.shape_in} but is given capsules of shape "
                f"{tuple(below.pose.shape[1:])}: images must have the size the network was built for"
            )
        with _full_precision(self.weight):
            below = Capsules(*(t.to(self.weight.dtype) for t in below))
            gathered = _scramble(self.windows.gather(below.pose)) if self.compat == "apple" else None
            n, grid_wide = self.shape_out.n, self.competition == "grid"
            return Votes(below, self.maps(), self.bias, n, self.rows, self.windows, grid_wide, gathered, steps)

    def step(self, votes: Votes, state: State | None, t: int, *, record: bool = False) -> State:
        """One iteration of the routing; with `record`, its couplings stay in the state."""
        with _full_precision(self.weight):
            after = self.routing.step(votes, state, t)
            if not record:
                return after
            return after._replace(coupling=votes.weigh(self.routing.couplings(votes, state)))

    def extra_repr(self) -> str:
        return (
            f"{self.shape_in} -> {self.shape_out}, rows={self.rows}, window={self.windows.window}, share={self.share!r}"
        )


def _full_precision(like: Tensor) -> AbstractContextManager[None]:
    """Autocast off, where it is on; there is none on the meta device."""
    if not torch._C._is_any_autocast_enabled():  # one call, since small networks pay for calls
        return nullcontext()
    kind = like.device.type
    on = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    return torch.autocast(kind, enabled=False) if on else nullcontext()


def _scramble(u: Float[Tensor, "b h w i d"]) -> Float[Tensor, "b h w i d"]:
    """Numbers laid out pose first, then position, and read as if position came first."""
    _, h, w, _, d = u.shape
    return rearrange(rearrange(u, "b h w i d -> b i (d h w)"), "b i (h w d) -> b h w i d", h=h, w=w, d=d)


def _check(n: int, rows: int, sizes: dict[str, int], share: str, competition: str, compat: str) -> None:
    if n < 1 or rows < 1:
        raise ValueError(f"n={n}, rows={rows} is not allowed: both must be at least 1")
    for who, d in sizes.items():
        if d < 1 or d % rows:
            raise ValueError(f"the {who}'s pose of d={d} cannot have rows={rows}: d must be a multiple of rows")
    allowed = {
        "share": (share, ("none", "position", "all")),
        "competition": (competition, ("window", "grid")),
        "compat": (compat, ("none", "apple")),
    }
    for name, (value, choices) in allowed.items():
        if value not in choices:
            raise ValueError(f"{name}={value!r} is not allowed: choose one of {', '.join(map(repr, choices))}")
