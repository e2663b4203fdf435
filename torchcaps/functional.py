"""Squashing functions: they keep a pose's direction and bring its length below one."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps import ops

Squash = Callable[[Tensor], Tensor]


def length(pose: Float[Tensor, "*s d"]) -> Float[Tensor, "*s"]:
    """The Euclidean length of each pose; its gradient at a zero pose is zero, not NaN.

    >>> length(torch.tensor([[3.0, 4.0]]))
    tensor([5.])
    """
    norm: Tensor = torch.linalg.vector_norm(pose, dim=-1)
    return norm


def squash(s: Float[Tensor, "*s d"], eps: float = 0.0) -> Float[Tensor, "*s d"]:
    """‖s‖² / (1 + ‖s‖²) · s / ‖s‖ (Sabour et al. 2017, equation 1), written without a division by zero.

    >>> squash(torch.tensor([3.0, 4.0])).norm()
    tensor(0.9615)

    Args:
        eps: what the released code of peer2021 adds to the squared length and to every number of the result; so a pose
            never vanishes, and u and −u never give quite the same.
    """
    if not eps and ops.natively(s):
        return ops.squash(s, exponential=False)
    n = _wide_length(s)
    n = (n * n + eps).sqrt() if eps else n
    v = s * (n / (1 + n * n)).to(s.dtype)
    return v + eps if eps else v


def squash_exp(s: Float[Tensor, "*s d"]) -> Float[Tensor, "*s d"]:
    """(1 − e^−‖s‖) · s / ‖s‖ (chen2019, section 3.2; mitterreiter2023, equation 1): keener near zero.

    >>> squash_exp(torch.tensor([0.01, 0.0]))
    tensor([0.0100, 0.0000])
    """
    if ops.natively(s):
        return ops.squash(s, exponential=True)
    n = _wide_length(s).clamp_min(1e-12)
    return s * (-torch.expm1(-n) / n).to(s.dtype)


def _wide_length(s: Float[Tensor, "*s d"]) -> Float[Tensor, "*s 1"]:
    """In single precision at least: the square of a length overflows in half, and its floor vanishes."""
    n: Tensor = torch.linalg.vector_norm(s, dim=-1, keepdim=True)
    return n.float() if n.dtype in (torch.float16, torch.bfloat16) else n


def identity(s: Float[Tensor, "*s d"]) -> Float[Tensor, "*s d"]:
    """No squash, for the ablations of gu2021 (tables 2 and 4).

    >>> identity(torch.ones(2))
    tensor([1., 1.])
    """
    return s


SQUASHES: dict[str, Squash] = {"squash": squash, "squash_exp": squash_exp, "identity": identity}
