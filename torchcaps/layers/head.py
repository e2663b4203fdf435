"""From class capsules to class scores."""

from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from torchcaps.types import CapsShape, Capsules


class Head(nn.Module):
    """Scores of the class capsules, which must sit on a 1×1 grid.

    >>> Head(CapsShape((2, 2), 10, 16))
    Traceback (most recent call last):
    ValueError: the class capsules lie on a 2×2 grid: ...
    """

    reads_activation: bool = False
    """Whether the scores are the activations, so that the routing below must give them a meaning."""

    def __init__(self, classes: CapsShape) -> None:
        super().__init__()
        if classes.grid != (1, 1):
            raise ValueError(
                f"the class capsules lie on a {classes.grid[0]}×{classes.grid[1]} grid: the last capsule layer must "
                f"have a window as large as its grid (window=None) to give one capsule a class"
            )
        self.classes = classes


class ActivationHead(Head):
    """A class scores as much as its capsule is active: its length, or what the routing says.

    >>> ActivationHead(CapsShape((1, 1), 10, 16)).classes.n
    10
    """

    reads_activation = True

    def forward(self, top: Capsules) -> Float[Tensor, "b n"]:
        return rearrange(top.act, "b 1 1 n -> b n")


class LinearHead(Head):
    """A linear function of the pose, shared by all class capsules (tsai2020, section 4.1).

    >>> LinearHead(CapsShape((1, 1), 10, 16)).linear
    Linear(in_features=16, out_features=1, bias=True)
    """

    def __init__(self, classes: CapsShape) -> None:
        super().__init__(classes)
        self.linear = nn.Linear(classes.d, 1)

    def forward(self, top: Capsules) -> Float[Tensor, "b n"]:
        logits: Tensor = self.linear(top.pose)
        return rearrange(logits, "b 1 1 n 1 -> b n")
