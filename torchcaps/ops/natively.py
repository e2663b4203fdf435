"""Whether the native passes take tensors that no operator of theirs was asked about yet."""

import torch
from torch import Tensor

from torchcaps.ops import native
from torchcaps.ops.ordinary import ordinary
from torchcaps.ops.plain import is_plain
from torchcaps.ops.triton import interpreted


def natively(t: Tensor) -> bool:
    """Whether they serve the CPU, these are single or double precision numbers there, and nobody looks inside.

    Triton's kernels under the interpreter have the CPU to themselves: to load the native passes would end that.

    >>> natively(torch.ones(3, 4, dtype=torch.bfloat16))
    False
    """
    if is_plain() or torch.compiler.is_compiling() or t.dtype not in (torch.float32, torch.float64):
        return False
    return ordinary(t) and not interpreted() and native.status() == "native"
