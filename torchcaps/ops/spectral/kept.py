"""The spectra of a convolution's kernel, kept while nothing changes it."""

from typing import Any

import torch
from torch import Tensor


class Kept:
    """What inference remembers of a kernel: a digest of its bits and, once that was seen twice, its spectra.

    Weights change by many roads (an optimiser, `load_state_dict`, `.data`), and not all leave a mark on the tensor. So
    the bits themselves are looked at, which takes a fiftieth of the convolution's time. Copies and pickles are empty.
    """

    def __init__(self) -> None:
        # One attribute, so that threads which are here at once never find the spectra of another kernel.
        self._last: tuple[Any, Tensor | None] = (None, None)

    def forget(self) -> None:
        """Drop everything, as when training goes on."""
        self._last = (None, None)

    def spectra(self, x: Tensor, w: Tensor, cut: tuple[Any, ...]) -> Tensor | None:
        """The kernel's spectra, if it is the one of the last call and is cut alike; None the first time."""
        now = (torch.ops.torchcaps.digest(w), w.shape, w.dtype, cut)
        before, spectra = self._last
        if before != now:
            self._last = (now, None)
            return None
        if spectra is None:
            spectra = torch.ops.torchcaps.spectral_kernel(x.contiguous(), w.contiguous(), *cut)
            self._last = (now, spectra)
        return spectra

    def __reduce__(self) -> tuple[type["Kept"], tuple[()]]:
        return Kept, ()
