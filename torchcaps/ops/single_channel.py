"""Strides of images and kernels of one channel, for torch's convolution.

The stride of an axis of one number means nothing, but torch takes such tensors to be channels last where it is 1. Its
convolution then errs (torch 2.13, CPU): with single precision, one channel in, a stride of (1, n) for n > 1 and one
column of output the values are wrong, compiled or not; the gradient of a kernel with one output channel may fail.
"""

from jaxtyping import Float
from torch import Tensor

Image = Float[Tensor, "*b c h w"]
Kernel = Float[Tensor, "o each k l"]  # channels of each group


def plain_strides(image: Image, kernel: Kernel) -> tuple[Image, Kernel]:
    """The same numbers, row by row where there is one channel in or out; nothing is copied that lies so already.

    >>> last = torch.rand(4, 5, 3, 1).permute(0, 3, 1, 2)
    >>> image, kernel = plain_strides(last, torch.rand(10, 1, 3, 3))
    >>> last.stride(), image.stride()
    ((15, 1, 3, 1), (15, 15, 3, 1))
    """
    if kernel.shape[0] == 1:
        kernel = kernel.contiguous()
    if kernel.shape[1] != 1:
        return image, kernel
    return _row_by_row(image), _row_by_row(kernel)


def _row_by_row(t: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b c h w"]:
    """`contiguous()` leaves the stride of a single channel, and a compiler drops a `view` of the same shape."""
    if t.ndim < 3 or t.shape[-3] != 1 or t.stride(-3) == t.shape[-2] * t.shape[-1]:
        return t
    return t.contiguous().squeeze(-3).unsqueeze(-3)
