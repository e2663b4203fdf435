"""Large results in huge pages, where the system has them for who asks.

It takes as long to hand out 42 MB in small pages as a core takes for a billion multiply-adds. The native passes ask for
themselves, in `native/pages.h`. Even huge pages must be filled with zeros first: the memory of very large results is
used again, where the native passes are loaded.
"""

import ctypes
import math
import sys
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.library import Library

from torchcaps.ops import native

PAGE = 1 << 21
LARGE = 2 * PAGE  # bytes
MAPPED = 1 << 25  # bytes from which on the allocator asks the system each time
_ADVICE = 14  # MADV_HUGEPAGE
_SYSTEM = ctypes.CDLL(None) if sys.platform == "linux" else None


def in_huge_pages(t: Tensor) -> Tensor:
    """The same tensor, whose memory nobody has touched yet.

    >>> in_huge_pages(torch.empty(1 << 20)).shape
    torch.Size([1048576])
    """
    if _SYSTEM is not None and t.device.type == "cpu" and t.nbytes >= LARGE:
        begin = -(-t.data_ptr() // PAGE) * PAGE
        end = (t.data_ptr() + t.nbytes) // PAGE * PAGE
        _SYSTEM.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), _ADVICE)  # it may be taken, or not
    return t


_LIBRARY = Library("torchcaps", "FRAGMENT")
_LIBRARY.define("room(int[] sizes, Tensor like) -> Tensor")
_LIBRARY.define("release() -> int")


def room(sizes: Sequence[int], like: Tensor) -> Tensor:
    """An empty tensor for a result.

    >>> room((3, 4), torch.ones(2)).shape
    torch.Size([3, 4])
    """
    large = math.prod(sizes) * like.element_size() >= MAPPED and like.device.type == "cpu"
    if large and native.status() == "native":
        made: Tensor = torch.ops.torchcaps.room(sizes, like)
        return made
    return in_huge_pages(like.new_empty(sizes))


def release() -> int:
    """Give memory that is kept to be used again, a gigabyte at the most, back to the system; how many bytes it had.

    >>> _ = release()
    >>> release()
    0
    """
    return int(torch.ops.torchcaps.release()) if native.status() == "native" else 0
