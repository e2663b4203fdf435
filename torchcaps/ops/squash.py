"""Squashes in one pass: torch makes a dozen operators of one and its gradient, and a small network has many of them."""

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops.operators import LIBRARY

LIBRARY.define("squash(Tensor s, bool exponential) -> Tensor")


def squash(s: Float[Tensor, "*s d"], *, exponential: bool) -> Float[Tensor, "*s d"]:
    """n / (1 + n²) · s for n = ‖s‖, or (1 − e^−n) / n · s."""
    made: Tensor = torch.ops.torchcaps.squash.default(s, exponential)
    return made
