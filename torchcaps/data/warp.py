"""Affine warps of whole batches: rotation, shear, scale and translation as separate strengths."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from torchcaps.data._random import uniform


class Strength(NamedTuple):
    """How far each part of a random warp goes; the default is that of affine MNIST (gu2021, section 3.1).

    Args:
        rotation: degrees to either side.
        shear: degrees to either side, of the vertical.
        scale: least and greatest factor, drawn for height and width apart.
        translation: pixels in each direction.
    """

    rotation: float = 20.0
    shear: float = 45.0
    scale: tuple[float, float] = (0.8, 1.2)
    translation: float = 8.0


class Warp(NamedTuple):
    """One warp an image: where its points go, in pixels from the centre. x' = matrix · x + shift."""

    matrix: Float[Tensor, "b 2 2"]
    shift: Float[Tensor, "b 2"]


def compose(
    rotation: Float[Tensor, " b"], shear: Float[Tensor, " b"], scale: Float[Tensor, "b 2"], shift: Float[Tensor, "b 2"]
) -> Warp:
    """Scale, then shear, then rotate (angles in degrees), then move; points are (x, y).

    >>> zero = torch.zeros(1)
    >>> compose(zero, zero, torch.ones(1, 2), torch.zeros(1, 2)).matrix
    tensor([[[1., 0.],
             [0., 1.]]])
    """
    angle, slope = rotation * math.pi / 180, torch.tan(shear * math.pi / 180)
    cos, sin = angle.cos(), angle.sin()
    one, zero = torch.ones_like(slope), torch.zeros_like(slope)
    turn = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    slant = torch.stack([torch.stack([one, slope], -1), torch.stack([zero, one], -1)], -2)
    return Warp(turn @ slant @ torch.diag_embed(scale), shift)


def draw(strength: Strength, seed: int, epoch: int, index: Int[Tensor, " b"], stream: int = 0) -> Warp:
    """A random warp for each index."""

    def u(k: int, low: float, high: float) -> Tensor:
        return uniform(seed, epoch, index, 16 * stream + k, low, high)

    r, s, t = strength.rotation, strength.shear, strength.translation
    scale = torch.stack([u(2, *strength.scale), u(3, *strength.scale)], -1)
    shift = torch.stack([u(4, -t, t), u(5, -t, t)], -1)
    return compose(u(0, -r, r), u(1, -s, s), scale, shift)


def apply(images: Float[Tensor, "b c h w"], warp: Warp, size: tuple[int, int]) -> Float[Tensor, "b c h2 w2"]:
    """The warped images on a canvas of another size, black outside, bilinear between pixels."""
    h, w = images.shape[-2:]
    back = torch.linalg.inv_ex(warp.matrix).inverse  # as linalg.inv, which would wait for a card
    # affine_grid wants, for each point of the canvas in units of half its size, the point of the image it shows.
    canvas, source = (torch.stack([images.new_full((), side / 2) for side in (x, y)]) for y, x in (size, (h, w)))
    linear = back * canvas / source[:, None]
    offset = -(back @ warp.shift[..., None])[..., 0] / source
    theta = torch.cat([linear, offset[..., None]], -1)
    grid = F.affine_grid(theta, [len(images), images.shape[1], *size], align_corners=False)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
