"""The passes as Triton kernels, for CUDA and ROCm devices: no vote is ever stored, forward and backward.

Under Triton's interpreter (`TRITON_INTERPRET=1`, before anything imports it) they take CPU tensors.
"""

import logging
import os
from functools import lru_cache

from torchcaps.ops.choice import choice

OLDEST = (3, 9)  # what the kernels were shown with

log = logging.getLogger("torchcaps")


def interpreted() -> bool:
    """Whether CPU tensors are to go through the kernels: the user wants Triton, and its interpreter."""
    return os.environ.get("TRITON_INTERPRET") == "1" and choice() == "triton"


def status(device: str = "cuda") -> str:
    """ "triton" once the kernels are registered for a kind of device, or why they are not.

    It is an error if TORCHCAPS_PASSES wants them and Triton cannot be had.
    """
    if choice() == "plain":
        return "plain torch: TORCHCAPS_PASSES=plain"
    failure = _failure(device)
    if failure is not None and choice() == "triton":
        raise RuntimeError(f"TORCHCAPS_PASSES=triton, but {failure}")
    return "triton" if failure is None else f"plain torch: {failure}"


@lru_cache
def _failure(device: str) -> str | None:
    """Register the kernels, once in a process; what stood in the way, if something did."""
    failure = None
    try:
        import triton
    except ImportError as error:
        failure = f"Triton cannot be imported ({error})"
    else:
        version = tuple(int(part) for part in triton.__version__.split(".")[:2])
        if version < OLDEST and choice() != "triton":
            failure = f"Triton {triton.__version__} is older than {'.'.join(map(str, OLDEST))}"
    if failure is not None:
        log.warning("torchcaps: %s, so the plain torch passes serve on the GPU: pip install 'torchcaps[gpu]'", failure)
        return failure
    from torchcaps.ops.triton._operators import register

    register(device)
    return None
