"""`TORCHCAPS_PASSES`: which passes a user insists on.

Without it each device is served by the fastest passes there are for it: native ones on a CPU, Triton's on a GPU, plain
torch where those cannot be had, and a warning says so. `plain` wants plain torch everywhere; `native` wants the native
passes on the CPU and `triton` Triton's on the GPU: that they cannot be had is then an error. With `triton` and its
interpreter (TRITON_INTERPRET=1) CPU tensors go through the kernels too, slowly.
"""

import os

CHOICES = ("native", "triton", "plain")


def choice() -> str | None:
    """The passes that the user wants, if they said so."""
    if os.environ.get("TORCHCAPS_NATIVE") == "0":  # how one said it before
        return "plain"
    wanted = os.environ.get("TORCHCAPS_PASSES") or None
    if wanted not in (*CHOICES, None):
        raise ValueError(f"TORCHCAPS_PASSES={wanted} is not allowed: choose one of {', '.join(CHOICES)}")
    return wanted
