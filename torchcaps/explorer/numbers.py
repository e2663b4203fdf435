"""Tensors as JSON holds them."""

from torch import Tensor

DIGITS = 5


def numbers(values: Tensor) -> list[float]:
    """A flat list, rounded; what is not a number is 0, which a page can draw.

    >>> numbers(torch.tensor([[0.25, float("nan")]]))
    [0.25, 0.0]
    """
    found: list[float] = values.detach().double().cpu().nan_to_num(0.0, 0.0, 0.0).flatten().tolist()
    return [round(value, DIGITS) for value in found]
