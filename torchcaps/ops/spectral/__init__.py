"""Convolutions by fewer multiplications: in the frequency domain, where that takes less time than the direct way.

A kernel of 9×9 with stride 2 is four of 5×5 on a coarser grid, and on that grid's spectrum each frequency is one
product of matrices: a third to a seventh of the multiplications. One of 3×3 takes another transform (Winograd), in
which a tile of 4×4 outputs has 36 such products, a quarter of the multiplications. The transforms cost as much for any
number of output channels or images, so few of either are convolved directly (`torchcaps.ops.spectral.cost`).

Those with very many channels may be one product (`torchcaps.ops.unrolled`).

`TORCHCAPS_SPECTRAL=0` has every convolution direct, `1` takes the spectral way wherever it can be taken.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from torchcaps.ops import native, unrolled
from torchcaps.ops.ordinary import ordinary
from torchcaps.ops.spectral import operator
from torchcaps.ops.spectral.cost import Pair, Shape, Uses, transform
from torchcaps.ops.spectral.kept import Kept

CHOICES = ("0", "1")
_direct = ContextVar("_direct", default=False)


def conv2d(
    x: Float[Tensor, "*b c h w"],
    w: Float[Tensor, "o c k l"],
    bias: Float[Tensor, " o"] | None,
    stride: Pair,
    padding: Pair,
    kept: Kept,
) -> Float[Tensor, "*b o h2 w2"]:
    """`F.conv2d`, by the fastest way; `kept` is where inference may keep the spectra of `w`.

    >>> x, w = torch.ones(1, 1, 8, 8), torch.ones(1, 1, 5, 5)
    >>> conv2d(x, w, None, (2, 2), (0, 0), Kept())
    tensor([[[[25., 25.],
              [25., 25.]]]])
    """
    forced = _forced()
    if forced is False or not _possible(x, w):
        return F.conv2d(x, w, bias, stride, padding)
    shape = Shape(
        x.shape[0], x.shape[1], w.shape[0], (x.shape[2], x.shape[3]), (w.shape[2], w.shape[3]), stride, padding
    )
    training = torch.is_grad_enabled() and (x.requires_grad or w.requires_grad)
    if training:
        kept.forget()
    else:
        n = transform(shape, Uses(of_x=False, of_w=False, kept=True), w.element_size(), forced=forced is True)
        if n is not None and native.status() == "native":
            spectra = kept.spectra(x, w, (stride, padding, n))
            if spectra is not None:
                return _spectral(x, w, bias, spectra, stride, padding, n)
    uses = Uses(of_x=training and x.requires_grad, of_w=training and w.requires_grad, kept=False)
    n = transform(shape, uses, w.element_size(), forced=forced is True)
    if n is None or native.status() != "native":
        return unrolled.conv2d(x, w, bias, stride, padding)
    return _spectral(x, w, bias, None, stride, padding, n)


@contextmanager
def directly() -> Iterator[None]:
    """Inside, every convolution is direct."""
    token = _direct.set(True)
    try:
        yield
    finally:
        _direct.reset(token)


def is_direct() -> bool:
    """Whether this is inside `directly`."""
    return _direct.get()


def _spectral(
    x: Tensor, w: Tensor, bias: Tensor | None, spectra: Tensor | None, stride: Pair, padding: Pair, n: Pair
) -> Tensor:
    y: Tensor = torch.ops.torchcaps.spectral(x.contiguous(), w.contiguous(), bias, spectra, stride, padding, n)
    return y


def _forced() -> bool | None:
    """Whether the user wants the spectral way or not, if they said so."""
    wanted = os.environ.get("TORCHCAPS_SPECTRAL") or None
    if wanted not in (*CHOICES, None):
        raise ValueError(f"TORCHCAPS_SPECTRAL={wanted} is not allowed: choose one of {', '.join(CHOICES)}")
    if is_direct():
        return False
    return None if wanted is None else wanted == "1"


def _possible(x: Tensor, w: Tensor) -> bool:
    """Whether these are images and kernels of single or double precision that no transform looks inside of."""
    return ordinary(x, w) and x.dtype in (torch.float32, torch.float64) and x.ndim == 4 and x.numel() > 0


__all__ = ["Kept", "conv2d", "directly", "is_direct", "operator"]
