"""What every routing is: a step from one state of the parents to the next."""

import math
from collections.abc import Callable

from torch import nn

from torchcaps.types import RoutingShape, State
from torchcaps.votes import Coupling, PerParent, Poses, Votes


class Routing(nn.Module):
    """One routing algorithm between two layers.

    Subclasses state `step`, which moves the parents once, `couplings`, how that step shares each child out among the
    parents, and `finish`, what it makes of the votes that were shared out. The state that `step` and `couplings` are
    given is the one before; None before the first step. `torchcaps.testing.check_routing` tells whether they agree.

    >>> class First(Routing):
    ...     competes = False
    ...     def couplings(self, votes, state):
    ...         c = torch.zeros(*votes.lead, self.shape.i, self.shape.j)
    ...         c[..., 0, :] = 1  # the first child alone is heard
    ...         return c
    ...     def step(self, votes, state, t):
    ...         pose = votes.combine(self.couplings(votes, state))
    ...         return State(pose, pose.norm(dim=-1))
    >>> CapsuleLayer(CapsShape((2, 2), 3, 4), n=5, routing=First).shape_out
    CapsShape(grid=(1, 1), n=5, d=4)

    Args:
        shape: what the routing is built for.
        iters: how often a sequential schedule steps; a concurrent schedule has its own count.
    """

    activates: bool = True
    """Whether the parents' activations mean anything; where not, they are all one."""

    competes: bool = True
    """Whether a child shares itself out: its couplings to all the parents it can reach sum to one."""

    weighs: bool = False
    """Whether a vote counts as much as its child is active, besides its coupling."""

    def __init__(self, shape: RoutingShape, *, iters: int = 1) -> None:
        super().__init__()
        if iters < 1:
            raise ValueError(f"iters={iters} is not allowed: a routing needs at least one iteration")
        self.shape, self.iters = shape, iters

    def step(self, votes: Votes, state: State | None, t: int) -> State:
        """The parents after iteration `t`, counted from 0."""
        raise TypeError(f"{type(self).__name__} must define step(votes, state, t)")

    def couplings(self, votes: Votes, state: State | None) -> Coupling:
        """How much of each child's vote a step from `state` gives to each parent."""
        raise TypeError(f"{type(self).__name__} must define couplings(votes, state)")

    def finish(self, s: Poses, mass: PerParent, act: PerParent, /) -> Poses:
        """The parents' poses from the votes they were given: the squash or norm that ends a step, if there is one.

        Args:
            s: Σ_i c_ij û_ij, with the child's activation in c_ij where the routing `weighs`.
            mass: Σ_i c_ij, for those that take the mean.
            act: the parents' activations, for those whose poses show them.
        """
        return s

    def weight_std(self, maps: int, x: int, y: int) -> float:
        """The deviation of a layer's first weights, for `maps` different maps from `x` columns to `y`.

        A vote is as long as its child. Routings that sum votes, or normalise the sum, have their own.
        """
        return 1 / math.sqrt(y)

    def sum_std(self, coupling: float, maps: int, y: int) -> float:
        """The same where parents are Σ_i c û_ij: they begin as long as their children, for a first coupling c.

        Children with maps of their own add up like random steps, those that share a map like equal ones.
        """
        return math.sqrt(maps / y) / (coupling * self.shape.i)

    def extra_repr(self) -> str:
        return f"iters={self.iters}, {self.shape}"


RoutingFactory = Callable[[RoutingShape], Routing]
