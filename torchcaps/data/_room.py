"""Room for many images: in memory if they fit, otherwise in a file that the system reads page by page."""

import errno
import os
import tempfile
from math import prod
from pathlib import Path

import torch
from jaxtyping import UInt8
from torch import Tensor

from torchcaps._memory import memory
from torchcaps.data._cache import cache_dir

MOST = 0.5  # share of the memory there is that images may take


def room_for(shape: tuple[int, int, int, int]) -> UInt8[Tensor, "n c h w"]:
    """An empty tensor of bytes. A file that holds it has no name and goes with the process."""
    if prod(shape) <= MOST * memory():
        return torch.empty(shape, dtype=torch.uint8)
    return _mapped(prod(shape)).reshape(shape)


def _mapped(size: int) -> UInt8[Tensor, " n"]:
    home = cache_dir()
    home.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=home, prefix=".images-")
    try:
        # To claim the disk now is to hear now that it is full, instead of being killed when a page is written.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)
        else:
            os.truncate(handle, size)
        return torch.from_file(name, shared=True, size=size, dtype=torch.uint8)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG):
            raise
        raise OSError(
            error.errno,
            f"the images take {size / 1e9:.1f} GB, which fits neither into memory nor into {home}: take a smaller "
            f"--image-size, or set TORCHCAPS_DATA to a directory on another disk",
        ) from error
    finally:
        os.close(handle)
        Path(name).unlink()
