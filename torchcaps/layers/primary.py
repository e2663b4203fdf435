"""The first capsules, made from the features of a backbone."""

from typing import Literal

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from torchcaps.functional import Squash, length, squash
from torchcaps.layers.convolution import Convolution
from torchcaps.types import CapsShape, Capsules
from torchcaps.windows import Pair, Windows

Activation = Literal["length", "learned", "one"]
Features = tuple[int, int, int]


class PrimaryCapsules(nn.Module):
    """A convolution whose channels are grouped into `n` capsules of `d` numbers at each position.

    >>> primary = PrimaryCapsules((256, 20, 20), n=32, d=8, kernel=9, stride=2)
    >>> primary.shape_out
    CapsShape(grid=(6, 6), n=32, d=8)

    Args:
        features: channels, height and width of the feature map.
        kernel, stride, padding, bias: of the convolution; `kernel=None` takes the channels as they are.
        norm: whether each pose is layer-normalised (tsai2020, procedure 2, line 3).
        squash: applied to each pose; `identity` for none.
        activation: "length" of the pose, "learned" by a second convolution and a sigmoid (EM routing), or "one".
    """

    def __init__(
        self,
        features: Features,
        n: int,
        d: int,
        *,
        kernel: Pair | None = 1,
        stride: Pair = 1,
        padding: Pair = 0,
        bias: bool = True,
        norm: bool = False,
        squash: Squash = squash,
        activation: Activation = "length",
    ) -> None:
        super().__init__()
        if activation not in ("length", "learned", "one"):
            raise ValueError(f"activation={activation!r} is not allowed: choose 'length', 'learned' or 'one'")
        channels = features[0]
        if kernel is None and channels != n * d:
            raise ValueError(
                f"kernel=None takes the {channels} channels as they are, which is not n={n} capsules of d={d}"
            )

        def convolution(out: int) -> nn.Module:
            if kernel is None:
                return nn.Identity()
            return Convolution(channels, out, kernel, stride, padding, bias=bias)

        self.conv = convolution(n * d)
        self.presence = convolution(n) if activation == "learned" else None
        self.norm = nn.LayerNorm(d) if norm else nn.Identity()
        self.squash, self.activation = squash, activation
        self.n, self.d = n, d
        grid = (
            features[1:]
            if kernel is None
            else Windows(features[1:], 1, window=kernel, stride=stride, padding=padding).grid_out
        )
        self.shape_out = CapsShape(grid, n, d)

    def forward(self, features: Float[Tensor, "b c h w"]) -> Capsules:
        pose = rearrange(self.conv(features), "b (n d) h w -> b h w n d", n=self.n).contiguous()
        pose = self.squash(self.norm(pose))
        if self.presence is not None:
            act = rearrange(self.presence(features), "b n h w -> b h w n").sigmoid()
        else:
            act = length(pose) if self.activation == "length" else torch.ones_like(pose[..., 0])
        return Capsules(pose, act)
