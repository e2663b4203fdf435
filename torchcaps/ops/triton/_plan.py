"""How a pass is cut up for a card: the sizes of blocks, by shape, and how many programs share the work."""

from typing import Literal, NamedTuple

import torch

from torchcaps.ops.sizes import Sizes

Kernel = Literal["forward", "parents", "children"]

PER_WARP = 512  # numbers of a tile, where a program has up to eight
LEAST = 16  # the shortest side of a matrix product
WIDEST = 64  # columns of the children at a time
DEPTH = 16  # of the products that a child's gradient is the sum of
LARGEST = 4096  # numbers in the least tile; larger poses are left to the plain pass
MAPS = 4096  # numbers of the maps of a child at a time, which shared memory holds
WAVES = 4  # programs wanted for each multiprocessor
FEWEST = 4  # children, or blocks of instances, worth a program of their own
FAST_TF32 = (80, 90, 100, 103)


class Limits(NamedTuple):
    """As large as can be without spilling registers; `benchmarks/gpu/kernels.py` shows it for every card.

    Args:
        tile: numbers of a tile of poses.
        wide: rows times instances in it, if there are enough of them.
        stages: of loads in flight.
        warps: of a program, at most.
        blocked: numbers of a tile where parents come in several blocks anyway, for which a program needs more.
        registers: that a thread may have; where nothing is said, some assemblers spill a few for more programs at once.
        thrifty: products for which the children's kernel is not told so: with so many registers it spills.
        pull_stages: as `stages`, in the parents' gradients.
    """

    tile: int
    wide: int
    stages: int
    warps: int = 8
    blocked: int = 4096
    registers: int | None = None
    thrifty: tuple[str, ...] = ()
    pull_stages: int = 3


HIP = Limits(4096, 16, 2, pull_stages=2)
LIMITS = {"cuda": Limits(4096, 32, 3), "hip": HIP, "cpu": Limits(4096, 64, 1, pull_stages=1)}
NARROW = HIP._replace(warps=16)  # AMD's cards for graphics, whose warps are half as wide
WITHOUT_TENSOR_CORES = Limits(4096, 16, 3, blocked=2048)  # NVIDIA's, where single precision has none


class Target(NamedTuple):
    """What kernels are compiled for: "cuda" with a number such as 80, "hip" with a name such as gfx942, or "cpu"."""

    backend: str
    arch: int | str
    processors: int

    @property
    def limits(self) -> Limits:
        """Of what it holds."""
        if self.backend == "cuda":
            return _nvidia(int(self.arch))
        return NARROW if str(self.arch).startswith(("gfx10", "gfx11", "gfx12")) else LIMITS[self.backend]

    def precision(self, *, tf32: bool) -> str:
        """How matrix products of single precision are made, by Triton's name.

        Where TF32 is not allowed, three of its products give single precision: the quicker way on cards whose TF32 is
        eight times as fast as their single precision, those of data centres.
        """
        if self.backend == "cuda" and int(self.arch) >= 80 and tf32:
            return "tf32"
        if self.backend == "cuda":
            return "tf32x3" if self.arch in FAST_TF32 else "ieee"
        return "tf32" if tf32 and self.arch == "gfx942" else "ieee"

    def widens(self, dtype: torch.dtype) -> bool:
        """Whether numbers of this kind are made single before a product."""
        return self.backend == "cpu" or (self.backend == "cuda" and int(self.arch) < 80 and dtype == torch.bfloat16)


class Plan(NamedTuple):
    """What a kernel is compiled for, beside the types of its tensors and which of them are there.

    A program holds tiles of poses, `jb` parents × `yp` columns × `ap` rows × `bm` instances, and makes votes from `xb`
    columns of the children at a time; these are powers of two, and what lies outside of a tensor is masked.

    Args:
        x, a, j, y: the sizes that are the same for every batch.
        depth: of the products that a child's gradient is the sum of.
        precision, wide: how matrix products are made; see `Target`.
        prior_i, prior_m: whether the prior differs between children, and between instances.
        split: whether several programs share the children (forward, parents) or the instances (children).
        atomic: whether they add to one result in any order; else each has a place of its own, summed afterwards.
        detach: whether couplings are constants on the way back.
    """

    x: int
    a: int
    j: int
    y: int
    jb: int
    yp: int
    ap: int
    bm: int
    xb: int
    depth: int
    precision: str
    wide: bool
    prior_i: bool
    prior_m: bool
    split: bool
    atomic: bool
    detach: bool


class Launch(NamedTuple):
    """A plan, the grid of its programs and what each of them takes: `span` children, or blocks of instances.

    `options` are of Triton's launcher.
    """

    plan: Plan
    grid: tuple[int, int, int]
    span: int
    options: dict[str, int]

    @property
    def blocks(self) -> int:
        """Of parents."""
        return _parts(self.plan.j, self.plan.jb)

    @property
    def adds(self) -> bool:
        """Whether programs that share the work add to one result."""
        return self.plan.atomic and self.plan.split


def fits(s: Sizes) -> bool:
    """Whether the kernels serve these sizes: tiles are not too large, and offsets inside a tile fit 32 bits."""
    least = max(_power(s.y), LEAST) * max(_power(s.a), LEAST)
    return least <= LARGEST and max(s.j * s.y * s.a, s.x * s.a) * s.m < 2**31 and s.x * s.j * s.y < 2**31


def launch(
    kernel: Kernel, s: Sizes, target: Target, *, dtype: torch.dtype, prior: tuple[bool, bool], detach: bool, tf32: bool,
    atomic: bool,
) -> Launch:  # fmt: skip
    """How to run a kernel on tensors of these sizes."""
    yp, ap = _power(s.y), _power(s.a)
    most = target.limits
    least_j, bm = max(1, LEAST // yp), max(1, LEAST // ap)
    jb = max(least_j, min(_power(s.j), most.tile // (yp * ap * bm)))
    if jb < s.j:
        jb = max(least_j, min(jb, most.blocked // (yp * ap * bm)))
    while jb * yp * ap * bm * 2 <= most.tile and ap * bm < most.wide and bm < s.m:
        bm *= 2
    xb = max(LEAST, min(WIDEST, _power(s.x), MAPS // (jb * yp)))
    blocks_j, blocks_m, blocks_x = _parts(s.j, jb), _parts(s.m, bm), _parts(s.x, xb)
    if kernel == "children":
        work, first, second = blocks_m, s.i, blocks_j * blocks_x
    else:
        work, first, second = s.i, blocks_m, blocks_j
    shares = min(_parts(WAVES * target.processors, first * second), _parts(work, FEWEST))
    span = _parts(work, max(1, shares))
    third = _parts(work, span)
    wide, precision = target.widens(dtype), target.precision(tf32=tf32)
    sizes = (s.x, s.a, s.j, s.y, jb, yp, ap, bm, xb, DEPTH)
    plan = Plan(*sizes, precision, wide, *prior, third > 1, atomic, detach)
    # A warp gets as many numbers fewer as a tile has where parents come in blocks.
    numbers = jb * yp * ap * bm * (max(1, most.tile // most.blocked) if jb < s.j else 1)
    return Launch(plan, (first, second, third), span, _options(kernel, target, plan, numbers))


def _options(kernel: Kernel, target: Target, plan: Plan, numbers: int) -> dict[str, int]:
    most = target.limits
    per_warp = PER_WARP // 2 if plan.prior_i and kernel != "forward" else PER_WARP
    warps = max(1, min(most.warps, numbers * most.warps // (8 * per_warp)))
    stages = {"forward": most.stages, "parents": most.pull_stages, "children": 1}[kernel]
    options = {"num_warps": warps, "num_stages": stages}
    if most.registers and not (kernel == "children" and plan.precision in most.thrifty):
        options["maxnreg"] = most.registers
    return options


def _nvidia(arch: int) -> Limits:
    if 80 <= arch < 100:
        return LIMITS["cuda"] if arch in FAST_TF32 else WITHOUT_TENSOR_CORES
    if arch in FAST_TF32:
        return LIMITS["cuda"]._replace(registers=255)
    most = WITHOUT_TENSOR_CORES._replace(registers=255)
    return most if arch < 80 else most._replace(thrifty=("ieee",), pull_stages=1)


def _parts(whole: int, part: int) -> int:
    return -(-whole // part)


def _power(n: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << (n - 1).bit_length()
