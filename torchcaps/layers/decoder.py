"""From class capsules back to images."""

import math

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from torchcaps.types import CapsShape, Parse

Image = tuple[int, int, int]


class Decoder(nn.Module):
    """Reconstructs an image from the class capsules of its parse.

    >>> class Mean(Decoder):
    ...     def draw(self, code):
    ...         return code.mean(-1)[:, None, None, None].expand(-1, *self.image)
    >>> parse = Parse(torch.rand(2, 3), [Capsules(torch.rand(2, 1, 1, 3, 4), torch.rand(2, 1, 1, 3))], [], [])
    >>> Mean(CapsShape((1, 1), 3, 4), (1, 8, 8))(parse).shape
    torch.Size([2, 1, 8, 8])

    Args:
        classes: the shape of the class capsules.
        image: channels, height and width.
        conditional: whether only the capsule of the labelled class is seen (class-conditional reconstruction, Sabour et
            al. 2017), or all of them (plain, gu2021, table 2).
    """

    def __init__(self, classes: CapsShape, image: Image, *, conditional: bool = True) -> None:
        super().__init__()
        self.classes, self.image, self.conditional = classes, image, conditional

    def draw(self, code: Float[Tensor, "b nd"]) -> Float[Tensor, "b c h w"]:
        """Images from flat class capsules."""
        raise TypeError(f"{type(self).__name__} must define draw(code)")

    def code(self, parse: Parse, labels: Int[Tensor, " b"] | None = None) -> Float[Tensor, "b n d"]:
        """The class capsules the image is drawn from; without labels, the class that scores highest is taken."""
        pose = rearrange(parse.capsules[-1].pose, "b 1 1 n d -> b n d")
        if not self.conditional:
            return pose
        chosen = parse.scores.argmax(-1) if labels is None else labels
        kept = chosen[:, None] == torch.arange(self.classes.n, device=chosen.device)  # reads no label, unlike one_hot
        return pose * kept.to(pose.dtype)[..., None]

    def forward(self, parse: Parse, labels: Int[Tensor, " b"] | None = None) -> Float[Tensor, "b c h w"]:
        """The reconstruction of each image."""
        return self.draw(rearrange(self.code(parse, labels), "b n d -> b (n d)"))

    def perturb(
        self, parse: Parse, labels: Int[Tensor, " b"], dim: int, deltas: Float[Tensor, " k"]
    ) -> Float[Tensor, "k b c h w"]:
        """Reconstructions while one number of the labelled class's capsule moves (gu2021, figure 4).

        Args:
            dim: which dimension of the capsule.
            deltas: what is added to it, one image for each.
        """
        if not 0 <= dim < self.classes.d:
            raise ValueError(f"dim={dim} is not allowed: a class capsule has dimensions 0 to {self.classes.d - 1}")
        code = self.code(parse, labels)
        push = torch.zeros_like(code)
        push[torch.arange(len(labels), device=labels.device), labels, dim] = 1
        return torch.stack([self.draw(rearrange(code + delta * push, "b n d -> b (n d)")) for delta in deltas])


class DenseDecoder(Decoder):
    """FC 512, FC 1024, FC pixels, with ReLU between and a sigmoid at the end (Sabour et al. 2017, figure 2).

    >>> sum(p.numel() for p in DenseDecoder(CapsShape((1, 1), 10, 16), (1, 28, 28)).parameters())
    1411344
    """

    def __init__(self, classes: CapsShape, image: Image, *, conditional: bool = True) -> None:
        super().__init__(classes, image, conditional=conditional)
        sizes = (classes.n * classes.d, 512, 1024, math.prod(image))
        self.net = nn.Sequential(
            nn.Linear(sizes[0], sizes[1]),
            nn.ReLU(),
            nn.Linear(sizes[1], sizes[2]),
            nn.ReLU(),
            nn.Linear(sizes[2], sizes[3]),
            nn.Sigmoid(),
        )

    def draw(self, code: Float[Tensor, "b nd"]) -> Float[Tensor, "b c h w"]:
        c, h, w = self.image
        pixels: Tensor = self.net(code)
        return rearrange(pixels, "b (c h w) -> b c h w", c=c, h=h, w=w)


class ConvDecoder(Decoder):
    """A quarter-size map from a linear layer, doubled twice by transposed convolutions: fewer parameters.

    >>> code = torch.rand(2, 160)
    >>> ConvDecoder(CapsShape((1, 1), 10, 16), (3, 30, 33)).draw(code).shape
    torch.Size([2, 3, 30, 33])
    """

    def __init__(self, classes: CapsShape, image: Image, *, conditional: bool = True, channels: int = 64) -> None:
        super().__init__(classes, image, conditional=conditional)
        c, h, w = image
        self.start = (channels, -(-h // 4), -(-w // 4))
        self.linear = nn.Linear(classes.n * classes.d, math.prod(self.start))
        self.net = nn.Sequential(
            nn.ReLU(),
            nn.ConvTranspose2d(channels, channels // 2, 4, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(channels // 2, channels // 4, 4, 2, 1),
            nn.ReLU(),
            nn.Conv2d(channels // 4, c, 3, padding=1),
            nn.Sigmoid(),
        )

    def draw(self, code: Float[Tensor, "b nd"]) -> Float[Tensor, "b c h w"]:
        c, h, w = self.start
        small = rearrange(self.linear(code), "b (c h w) -> b c h w", c=c, h=h, w=w)
        drawn: Tensor = self.net(small)
        return drawn[:, :, : self.image[1], : self.image[2]]
