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
    # To look at numbers would break a graph, or wait for a card, which then finds what is outside by itself.
    if rows.device.type == "cpu" and not torch.compiler.is_compiling():
        _check(rows, classes)
    return torch.zeros(len(labels), classes, device=labels.device).scatter(1, rows, 1.0)


def _check(rows: Int[Tensor, "b k"], classes: int) -> None:
    if rows.numel() and not 0 <= int(rows.min()) <= int(rows.max()) < classes:
        raise ValueError(f"labels from {int(rows.min())} to {int(rows.max())} do not fit {classes} classes")


def fitting(targets: Float[Tensor, "b n"], scores: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
    """Targets in the precision of the scores; class indices instead of multi-hot rows are refused."""
    if targets.shape != scores.shape:
        raise ValueError(
            f"targets of shape {tuple(targets.shape)} do not fit scores of shape {tuple(scores.shape)}: give one "
            f"number a class, as multi_hot(labels, classes) does"
        )
    return targets.to(scores.dtype)
