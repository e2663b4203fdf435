"""Squashes in one pass: torch makes a dozen operators of one and its gradient, and a small network has many of them."""

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops import native
from torchcaps.ops.operators import LIBRARY
from torchcaps.ops.ordinary import ordinary
from torchcaps.ops.plain import is_plain

LIBRARY.define("squash(Tensor s, bool exponential) -> Tensor")


def squashes(s: Tensor) -> bool:
    """Whether `squash` takes these poses: the native passes serve, and nobody looks inside.

    >>> squashes(torch.ones(3, 4, dtype=torch.bfloat16))
    False
    """
    if is_plain() or torch.compiler.is_compiling() or s.dtype not in (torch.float32, torch.float64) or s.ndim == 0:
        return False
    return ordinary(s) and native.status() == "native"


def squash(s: Float[Tensor, "*s d"], *, exponential: bool) -> Float[Tensor, "*s d"]:
    """n / (1 + n²) · s for n = ‖s‖, or (1 − e^−n) / n · s."""
    made: Tensor = torch.ops.torchcaps.squash.default(s, exponential)
    return made
