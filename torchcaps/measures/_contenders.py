"""Layers from n vectors of d to as many: routing by agreement, fused and dense, and self-attention."""

import torch
from einops import einsum, rearrange
from jaxtyping import Float
from torch import Tensor, nn

from torchcaps.functional import squash
from torchcaps.layers import CapsuleLayer
from torchcaps.types import CapsShape, Capsules


class Fused(nn.Module):
    """Routing by agreement between n capsules of d and as many, votes never stored."""

    def __init__(self, n: int, d: int) -> None:
        super().__init__()
        self.layer = CapsuleLayer(CapsShape((1, 1), n, d), n, d)

    def forward(self, u: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """The parents of capsules."""
        pose = rearrange(u, "b n d -> b 1 1 n d")
        below = Capsules(pose, torch.ones_like(pose[..., 0]))
        parents: Capsules = self.layer(below)
        return rearrange(parents.pose, "b 1 1 n d -> b n d")


class Dense(Fused):
    """The same as everyone writes it: the votes as a tensor."""

    def forward(self, u: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """The parents of capsules."""
        w = rearrange(self.layer.weight, "i x (j y) -> i x j y", j=u.shape[1])
        votes = einsum(u, w, "b i x, i x j y -> b i j y")
        logits = torch.zeros_like(votes[..., 0])
        for t in range(self.layer.routing.iters):
            v = squash(einsum(logits.softmax(-1), votes, "b i j, b i j y -> b j y"))
            if t < self.layer.routing.iters - 1:
                logits = logits + einsum(votes, v, "b i j y, b j y -> b i j")
        return v


class Attention(nn.Module):
    """Multi-head self-attention of n vectors of d, by torch; without biases, as the table counts."""

    def __init__(self, n: int, d: int) -> None:  # its parameters do not depend on n
        super().__init__()
        self.attention = nn.MultiheadAttention(d, num_heads=1, bias=False, batch_first=True)

    def forward(self, u: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """As many vectors again."""
        attended: Tensor = self.attention(u, u, u, need_weights=False)[0]
        return attended
