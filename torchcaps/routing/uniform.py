"""No routing: every vote counts the same."""

from typing import Literal

from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps.functional import Squash, length, squash
from torchcaps.routing._base import Routing
from torchcaps.types import RoutingShape, State
from torchcaps.votes import Coupling, Poses, Votes

Over = Literal["children", "parents"]


class Uniform(Routing):
    """Uniform coupling (gu2021, section 3.1; mitterreiter2023, section 4.3).

    >>> layer = CapsuleLayer(CapsShape((6, 6), 4, 8), n=10, d=16, routing=Uniform)
    >>> layer(Capsules(torch.rand(2, 6, 6, 4, 8), torch.rand(2, 6, 6, 4))).pose.shape, layer.routing.iters
    (torch.Size([2, 1, 1, 10, 16]), 1)

    Args:
        over: "children" takes the average of the votes, c = 1/children, as gu2021's global average pooling; "parents"
            shares each child among its parents, c = 1/parents, as the first iteration of dynamic routing.
        squash: applied to the sum.
    """

    def __init__(self, shape: RoutingShape, *, over: Over = "children", squash: Squash = squash) -> None:
        super().__init__(shape)
        if over not in ("children", "parents"):
            raise ValueError(f"over={over!r} is not allowed: choose 'children' or 'parents'")
        self.over, self.squash, self.competes = over, squash, over == "parents"

    def _coupling(self, votes: Votes) -> Float[Tensor, "#h #w #i 1 1"]:
        if self.over == "parents":
            return votes.uniform()
        missing = votes.windows.missing
        if missing is None:
            return votes.w.new_full((1, 1, 1, 1, 1), 1 / self.shape.i)
        here = (~missing).to(votes.w.dtype)
        return rearrange(here / here.sum(-1, keepdim=True), "h w i -> h w i 1 1")

    def weight_std(self, maps: int, x: int, y: int) -> float:
        return self.sum_std(1 / (self.shape.i if self.over == "children" else self.shape.j), maps, y)

    def step(self, votes: Votes, state: State | None, t: int) -> State:
        s, _ = votes.fold(self._coupling(votes))
        v = self.finish(s)
        return State(v, length(v))

    def finish(self, s: Poses, *_: Tensor) -> Poses:
        return self.squash(s)

    def couplings(self, votes: Votes, state: State | None) -> Coupling:
        return self._coupling(votes)[..., 0].expand(*votes.lead, self.shape.i, self.shape.j)
