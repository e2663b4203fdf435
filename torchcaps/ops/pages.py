"""Large results in huge pages, where the system has them for who asks.

It takes as long to hand out 42 MB in small pages as a core takes for a billion multiply-adds. The native passes ask for
themselves, in `native/pages.h`.
"""

import ctypes
import sys

from torch import Tensor

PAGE = 1 << 21
LARGE = 2 * PAGE  # bytes
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
