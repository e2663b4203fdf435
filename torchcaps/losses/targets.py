"""Labels as the losses want them."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def multi_hot(labels: Int[Tensor, "b ..."], classes: int) -> Float[Tensor, "b n"]:
    """One for each class an image shows, zero for the others; an image may have several labels.

    >>> multi_hot(torch.tensor([[0, 2], [1, 1]]), 3)
    tensor([[1., 0., 1.],
            [0., 1., 0.]])
    """
    rows = labels.reshape(len(labels), -1)
    return torch.zeros(len(labels), classes, device=labels.device).scatter(1, rows, 1.0)
