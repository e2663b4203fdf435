"""What a page may ask, checked before anything is computed."""

import base64
import binascii
from typing import Annotated, Literal

import torch
from einops import rearrange, repeat
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor
from torch.nn import functional as F

from torchcaps.data import warp

Shape = tuple[int, int, int]
SIDE, PIXELS = 256, 3 * 256 * 256  # of an image that a page may send

Finite = Annotated[float, Field(allow_inf_nan=False)]
Name = Annotated[str, Field(max_length=500)]
Pixels = Annotated[str, Field(max_length=4 * (PIXELS // 3 + 1))]


class Strict(BaseModel):
    """A question with exactly the fields that are asked for."""

    model_config = ConfigDict(extra="forbid")


class Changes(Strict):
    """What is done to an image: angles in degrees, shifts in pixels of the network's image, noise as a deviation."""

    rotation: Annotated[Finite, Field(ge=-180, le=180)] = 0
    shear: Annotated[Finite, Field(ge=-60, le=60)] = 0
    scale: Annotated[Finite, Field(ge=0.1, le=4)] = 1
    shift_x: Annotated[Finite, Field(ge=-SIDE, le=SIDE)] = 0
    shift_y: Annotated[Finite, Field(ge=-SIDE, le=SIDE)] = 0
    noise: Annotated[Finite, Field(ge=0, le=1)] = 0


class Picture(Strict):
    """An image, another to lay over it, and what is done to the two.

    Attributes:
        pixels, second: bytes of (channels, height, width), in base64.
    """

    model: Name
    pixels: Pixels
    shape: tuple[Literal[1, 3], Annotated[int, Field(ge=1, le=SIDE)], Annotated[int, Field(ge=1, le=SIDE)]]
    second: Pixels | None = None
    changes: Changes = Changes()


class Node(Strict):
    """A type of capsule in a layer."""

    layer: Annotated[int, Field(ge=0, le=1000)]
    type: Annotated[int, Field(ge=0, le=100_000)]


class Look(Picture):
    """How does a network understand this?

    Attributes:
        beside: another network whose tree is compared.
        label: the class whose capsule is drawn; that of the answer if not given.
        deltas: what is added to each number of that capsule.
        open: a type of capsule to be shown position by position.
    """

    beside: Name | None = None
    label: Annotated[int, Field(ge=0, le=100_000)] | None = None
    deltas: Annotated[list[Annotated[Finite, Field(ge=-100, le=100)]], Field(max_length=1024)] = []
    open: Node | None = None


class Strengths(Picture):
    """How sure is a network of a class while one change grows?"""

    factor: Literal["rotation", "shear", "scale", "shift_x", "shift_y", "noise"]
    label: Annotated[int, Field(ge=0, le=100_000)]


class Attacked(Picture):
    """Which image near this one does the network get wrong?"""

    method: Literal["fgsm", "pgd"] = "fgsm"
    eps: Annotated[Finite, Field(ge=0, le=1)] = 0.1


def decoded(pixels: str, shape: Shape) -> Float[Tensor, "c h w"]:
    """An image of numbers from 0 to 1; bytes that are too few or too many are refused."""
    try:
        data = base64.b64decode(pixels, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"the pixels are not base64: {error}") from error
    c, h, w = shape
    if len(data) != c * h * w:
        raise ValueError(f"an image of {c}×{h}×{w} has {c * h * w} bytes, and {len(data)} were sent")
    flat = torch.frombuffer(bytearray(data), dtype=torch.uint8).float() / 255
    return rearrange(flat, "(c h w) -> c h w", c=c, h=h)


def encoded(image: Float[Tensor, "c h w"]) -> str:
    """The other way: bytes in base64."""
    data = (image.detach().cpu().nan_to_num().clamp(0, 1) * 255).round().to(torch.uint8)
    return base64.b64encode(data.contiguous().numpy().tobytes()).decode("ascii")


def fitted(image: Float[Tensor, "c h w"], shape: Shape) -> Float[Tensor, "c2 h2 w2"]:
    """An image as another network takes it: in the middle of a larger canvas, or made smaller; grey or coloured.

    >>> fitted(torch.ones(1, 28, 28), (3, 40, 40)).sum().item() == 3 * 28 * 28
    True
    """
    c, h, w = shape
    if image.shape[0] != c:
        image = repeat(image.mean(0), "h w -> c h w", c=c)
    if image.shape[1] > h or image.shape[2] > w:
        small = F.interpolate(image[None], (h, w), mode="bilinear", antialias=True)
        image = small[0].clamp(0, 1)
    down, right = h - image.shape[1], w - image.shape[2]
    return F.pad(image, (right // 2, right - right // 2, down // 2, down - down // 2))


def changed(image: Float[Tensor, "c h w"], changes: list[Changes]) -> Float[Tensor, "b c h w"]:
    """The image under each of several changes; the noise is the same for all of them."""
    rows = [(c.rotation, c.shear, c.scale, c.shift_x, c.shift_y, c.noise) for c in changes]
    parts = torch.tensor(rows, dtype=torch.float32)
    rotation, shear, scale, *shift, noise = parts.unbind(-1)
    moves = warp.compose(rotation, shear, torch.stack([scale, scale], -1), torch.stack(shift, -1))
    images = repeat(image, "c h w -> b c h w", b=len(changes))
    warped = warp.apply(images, moves, (image.shape[1], image.shape[2]))
    grain = torch.randn(image.shape, generator=torch.Generator().manual_seed(0))
    return (warped + noise[:, None, None, None] * grain).clamp(0, 1)
