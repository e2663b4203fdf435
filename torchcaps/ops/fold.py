"""Σ_i c_ij û_ij, without the votes' bias, for couplings that no image changes: they fold into the maps."""

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from torchcaps.ops.product import product
from torchcaps.ops.scaled import scaled_product
from torchcaps.ops.single_channel import plain_strides

Pair = tuple[int, int]
Couplings = Float[Tensor, "#h #w #i #j #d"]
Poses = Float[Tensor, "b h w j d"]


def worth_gathering(w: Float[Tensor, "i x jy"], *, instances: int, rows: int) -> bool:
    """Whether the children of all windows take no more memory than the maps.

    Then their one product saves what a convolution costs a processor besides: maps laid out anew, forward and back. A
    compiler may not ask, for the answer would fix the batch.

    >>> [worth_gathering(torch.zeros(144, 64, 1024), instances=m, rows=1) for m in (1024, 1025)]
    [True, False]
    """
    return w.device.type == "cpu" and not torch.compiler.is_compiling() and instances * rows <= w.shape[2]


def convolve(
    pose: Float[Tensor, "b h2 w2 n d_in"],
    w: Float[Tensor, "i x jy"],
    c: Float[Tensor, "1 1 #i #j 1"],
    *,
    j: int,
    rows: int,
    window: Pair,
    stride: Pair,
    padding: Pair,
) -> Poses:
    """Where every window has the same couplings, from the children on their grid: windows need not be gathered."""
    maps = rearrange(w, "i x (j y) -> i x j y", j=j) * c[0, 0, :, None]
    kernel = rearrange(maps, "(k l n) x j y -> (j y) (n x) k l", k=window[0], l=window[1])
    image = rearrange(pose, "b h w n (a x) -> (b a) h w (n x)", a=rows)
    image = rearrange(image, "b h w c -> b c h w")
    # Numbers of a position side by side, as poses are: the convolution and what follows need not change places then.
    # A compiler and the convolution may have different ideas of what follows from that.
    beside = pose.device.type == "cpu" and not torch.compiler.is_compiling()
    layout = torch.channels_last if beside else torch.contiguous_format
    image, kernel = plain_strides(*(t.contiguous(memory_format=layout) for t in (image, kernel)))
    s = F.conv2d(image, kernel, stride=stride, padding=padding)
    return rearrange(s, "(b a) (j y) h w -> b h w j (a y)", a=rows, j=j)


def multiply(u: Float[Tensor, "b h w i d_in"], w: Float[Tensor, "i x jy"], c: Couplings, *, j: int, rows: int) -> Poses:
    """From the children of each window: one product of matrices, or one for each position and row.

    Couplings that are the same for all parents scale the children, or if all are the same the sum: either is smaller
    than maps for each position would be.
    """
    alike = c.numel() == 1
    if c.shape[3:] == (1, 1) and not alike:
        u, c, alike = u * rearrange(c, "h w i 1 1 -> h w i 1"), c.new_ones(()), True
    if alike:
        s = product(rearrange(u, "b h w i (a x) -> b h w a (i x)", a=rows), rearrange(w, "i x jy -> (i x) jy"))
        return rearrange(s, "b h w a (j y) -> b h w j (a y)", j=j) * c.flatten()
    if c.shape[:2] == (1, 1) and (rows == 1 or c.shape[-1] == 1):
        children, own = rearrange(u, "b h w i (a x) -> (b h w a) i x", a=rows), c[0, 0].expand(len(w), j, -1)
        s = scaled_product(children, rearrange(w, "i x (j y) -> i x j y", j=j), own)
        return rearrange(s, "(b h w a) j y -> b h w j (a y)", a=rows, **dict(zip("bhw", u.shape, strict=False)))
    s = rearrange(u, "b h w i (a x) -> h w a b (i x)", a=rows) @ _scaled(w, c, j, rows)
    return rearrange(s, "h w a b (j y) -> b h w j (a y)", j=j)


def _scaled(w: Float[Tensor, "i x jy"], c: Couplings, j: int, rows: int) -> Float[Tensor, "h w a ix jy"]:
    own = rearrange(c, "h w i j (a y) -> h w a i 1 j y", a=1 if c.shape[-1] == 1 else rows).contiguous()
    return rearrange(own * rearrange(w, "i x (j y) -> i x j y", j=j), "h w a i x j y -> h w a (i x) (j y)")


def fold_columns(u: Float[Tensor, "i x a m"], w: Float[Tensor, "i x jy"], *, j: int) -> Float[Tensor, "j y a m"]:
    """Σ_i û_ij of children that the next iterations want in this order anyway."""
    s = product(rearrange(w, "i x jy -> jy (i x)"), rearrange(u, "i x a m -> (i x) (a m)"))
    return rearrange(s, "(j y) (a m) -> j y a m", j=j, a=u.shape[2])
