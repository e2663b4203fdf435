"""A routing of one's own: written, checked, named, and used in a network of the papers."""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from torchcaps import RoutingShape, State, Votes, create_model
from torchcaps.functional import length, squash
from torchcaps.routing import Routing, register_routing
from torchcaps.testing import check_routing


class Cosine(Routing):
    """c_ij = softmax_j(τ ⟨û_ij, v_j/‖v_j‖⟩): parents ask with their direction alone, and τ is learned."""

    def __init__(self, shape: RoutingShape, *, iters: int = 3) -> None:
        super().__init__(shape, iters=iters)
        self.tau = nn.Parameter(torch.ones(()))

    def _query(self, state: State | None) -> Tensor | None:
        return None if state is None else self.tau * normalize(state.pose, dim=-1, eps=1e-3)

    def step(self, votes: Votes, state: State | None, t: int) -> State:
        s, _ = votes.attend(self._query(state))
        v = self.finish(s)
        return State(v, length(v))

    def finish(self, s: Tensor, *_: Tensor) -> Tensor:
        return squash(s)

    def couplings(self, votes: Votes, state: State | None) -> Tensor:
        return votes.attention(self._query(state))


def main() -> None:
    """Check it, name it, use it."""
    check_routing(Cosine)
    register_routing("cosine", Cosine)
    net = create_model("sabour2017/capsnet", routing="cosine", routing_options={"iters": 2}, width=0.1)
    print("scores", tuple(net(torch.rand(2, 1, 28, 28)).scores.shape))


if __name__ == "__main__":
    main()
