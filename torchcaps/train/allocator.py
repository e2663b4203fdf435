"""Memory that a step frees and the next one takes again: the system need not have it in between."""

import ctypes
import os
import platform

BLOCK, KEPT = 1 << 25, 1 << 30  # bytes: of a block that is kept, as large as every glibc allows, and of all of them
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep_freed_memory() -> bool:
    """Have this process keep up to a gigabyte that it frees; whether that could be had.

    By itself glibc gives large blocks back, and pages that are taken anew must be filled with zeros one by one, which
    is a good part of a small network's step. That is a matter of the whole process, so only those of our own ask for
    it: `torchcaps train` and the workers of the bench. Who has set the allocator's own variables is left alone.
    """
    told = any(name == "GLIBC_TUNABLES" or name.startswith("MALLOC_") for name in os.environ)
    if platform.libc_ver()[0] != "glibc" or told:
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_M_MMAP_THRESHOLD, BLOCK) and mallopt(_M_TRIM_THRESHOLD, KEPT))
