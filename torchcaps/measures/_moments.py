"""Mean and deviation of numbers that arrive in batches, without cancellation and without keeping them."""

import torch
from jaxtyping import Float
from torch import Tensor


class Moments:
    """Running mean and variance over the first axis (Chan, Golub, LeVeque 1979), in double precision.

    Batches are joined by their means and squared deviations, so that neither their size nor their order matters.

    >>> m = Moments()
    >>> m.update(torch.tensor([[1.0], [2.0]])); m.update(torch.tensor([[3.0]]))
    >>> m.count, m.mean.tolist(), round(float(m.std), 4)
    (3, [2.0], 0.8165)
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean = torch.zeros(0, dtype=torch.double)
        self._squares = torch.zeros(0, dtype=torch.double)

    def update(self, values: Float[Tensor, "b ..."]) -> None:
        """See another batch."""
        values = values.detach().cpu().double()
        here = len(values)
        mean = values.mean(0)
        squares = (values - mean).square().sum(0)
        if self.count:
            total = self.count + here
            apart = mean - self.mean
            squares = self._squares + squares + apart.square() * (self.count * here / total)
            mean = self.mean + apart * (here / total)
        self.count += here
        self.mean, self._squares = mean, squares

    @property
    def std(self) -> Float[Tensor, "..."]:
        """The population's deviation."""
        return (self._squares / self.count).sqrt()
