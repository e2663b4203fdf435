"""The votes û = u W + b of a tile, their scores, and their pullback: what every pass is made of.

Instances m = (h w b) are the last, contiguous axis everywhere, so that each line of torch runs over long vectors.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.ops.product import product

Children = Float[Tensor, "i x a m"]
Maps = Float[Tensor, "i x jy"]
Bias = Float[Tensor, "j y a 1"] | None
Poses = Float[Tensor, "j y a m"]
PerPair = Float[Tensor, "#i j #m"]
PerChild = Float[Tensor, "i m"]
PerParent = Float[Tensor, "j m"]


def votes(u: Tensor, w: Tensor, bias: Tensor | None, j: int) -> Float[Tensor, "i j y a m"]:
    """û for every child, parent and instance."""
    i, _, a, m = u.shape
    v = product(w.mT, u.flatten(2)).reshape(i, j, w.shape[2] // j, a, m)
    return v if bias is None else v + bias


def pull_votes(
    dv: Float[Tensor, "i j y a m"], u: Tensor, w: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The gradients of u, W and b from that of û."""
    d_bias = None if bias is None else dv.sum((0, 4))[..., None]
    flat = dv.flatten(3).flatten(1, 2)
    du = torch.bmm(w, flat).reshape(u.shape)
    dw = torch.bmm(u.flatten(2), flat.transpose(1, 2))
    return du, dw, d_bias


def dot(v: Tensor, q: Tensor) -> Float[Tensor, "i j m"]:
    """Σ over a pose's numbers of v · q."""
    return (v * q).sum((2, 3))


def over_pose(c: Float[Tensor, "i j m"]) -> Float[Tensor, "i j 1 1 m"]:
    """A number a pair, ready to multiply poses."""
    return c[:, :, None, None]


def weigh(c: Tensor, weight: Tensor | None) -> Tensor:
    """Couplings times the weight of their child."""
    return c if weight is None else c * weight[:, None]


def pull_softmax(c: Tensor, dc: Tensor) -> Tensor:
    """The gradient of the logits from that of their softmax over the parents."""
    return c * (dc - (c * dc).sum(1, keepdim=True))


def pair_bytes(u: Tensor, w: Tensor) -> int:
    """The memory of one child's votes for one instance."""
    return u.shape[2] * w.shape[2] * u.element_size()
