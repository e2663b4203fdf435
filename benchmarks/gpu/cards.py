"""What kernels are compiled for, and what the makers of four cards say that these can do."""

from typing import NamedTuple

from torchcaps.ops.triton._plan import Target


class Arch(NamedTuple):
    """A kind of card: Triton's target, threads of a warp, and shared memory that a block may have."""

    target: Target
    warp: int
    shared: int


KIB = 1024
ARCHS = {
    "sm_75": Arch(Target("cuda", 75, 40), 32, 64 * KIB),
    "sm_80": Arch(Target("cuda", 80, 108), 32, 163 * KIB),
    "sm_90": Arch(Target("cuda", 90, 132), 32, 227 * KIB),
    "sm_100": Arch(Target("cuda", 100, 148), 32, 227 * KIB),
    "sm_120": Arch(Target("cuda", 120, 170), 32, 99 * KIB),
    "gfx942": Arch(Target("hip", "gfx942", 304), 64, 64 * KIB),
    "gfx1100": Arch(Target("hip", "gfx1100", 96), 32, 64 * KIB),
}


class Card(NamedTuple):
    """Bytes a second of its memory, and operations a second in single precision: any, and of the kernels' products.

    Dense figures of the makers' data sheets. The products of our kernels are three of TF32 where that is faster.
    """

    name: str
    bandwidth: float
    single: float
    of_kernels: float


CARDS = (
    Card("A100 80GB", 2039e9, 19.5e12, 156e12 / 3),
    Card("H100 SXM", 3350e9, 66.9e12, 494.7e12 / 3),
    Card("RTX 4090", 1008e9, 82.6e12, 82.6e12),
    Card("MI300X", 5300e9, 163.4e12, 163.4e12),
)
