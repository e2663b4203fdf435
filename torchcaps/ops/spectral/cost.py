"""What a convolution costs directly and in the frequency domain, and how its grid is best cut for the latter.

Costs are in operations of a matrix product, measured with one thread: transforming a number to its spectrum and back
takes as long as fifty to a hundred of them, and matrices of few rows are multiplied as if they had more. Winograd's way
was measured where processors are widest (AVX-512 of AMD's), which is where arithmetic saves least.
"""

from functools import lru_cache
from itertools import product
from typing import NamedTuple

Pair = tuple[int, int]

SHORTEST = 3  # kernel, along either axis
SURELY = 1.2  # how many times as fast the spectral way must seem
CALL, CALL_WINOGRAD = 2e7, 5e6  # what a call costs beside its work
PADDED = 16  # rows, columns or depth that a product of matrices has more, as it seems
DIGEST = 10  # for each weight, where kept spectra are asked for
MOST_TILES = 8  # along an axis
KERNEL_BYTES = 256 << 20  # that the spectra of a kernel may take
WINOGRAD = (3, 6)  # taps and transform, along both axes, where Winograd's way takes the place of Fourier's
OF_IMAGE, OF_KERNEL = 60, 110  # by Winograd's way, for each number of a spectrum
LARGEST = 4096  # stride, padding or transform that the native pass takes
PANEL = 32  # output channels that a product there takes at a time


class Shape(NamedTuple):
    """A convolution: batch, channels below and above, and for both axes image, kernel, stride and padding."""

    b: int
    c: int
    o: int
    image: Pair
    kernel: Pair
    stride: Pair
    padding: Pair

    @property
    def out(self) -> Pair:
        """Height and width of the output."""
        h, w = (
            (size + 2 * pad - k) // s + 1
            for size, k, s, pad in zip(self.image, self.kernel, self.stride, self.padding, strict=True)
        )
        return h, w

    @property
    def taps(self) -> Pair:
        """Height and width of the kernel in one phase of the stride."""
        h, w = (-(-k // s) for k, s in zip(self.kernel, self.stride, strict=True))
        return h, w


class Uses(NamedTuple):
    """What a call is for: gradients of the image and of the kernel, or with the kernel's spectra at hand."""

    of_x: bool
    of_w: bool
    kept: bool


@lru_cache(maxsize=4096)
def transform(shape: Shape, uses: Uses, bytes_: int = 4, *, forced: bool = False) -> Pair | None:
    """The size of the transforms with which the spectral way is the faster one, surely; None if it is not.

    >>> capsnet = Shape(128, 256, 256, (20, 20), (9, 9), (2, 2), (0, 0))
    >>> transform(capsnet, Uses(of_x=True, of_w=True, kept=False))
    (10, 10)
    >>> transform(capsnet._replace(b=8), Uses(of_x=True, of_w=True, kept=False)) is None
    True
    """
    if min(shape.kernel) < SHORTEST or min(shape.out) < 1 or max(*shape.stride, *shape.padding) > LARGEST:
        return None
    sizes = [n for n in _cuts(shape) if max(n) <= LARGEST]
    cuts = [n for n in sizes if _slots(shape, n) * shape.o * _depth(shape) * bytes_ <= KERNEL_BYTES or forced]
    if not cuts:
        return None
    best = min(cuts, key=lambda n: spectral(shape, n, uses))
    return best if forced or SURELY * spectral(shape, best, uses) < direct(shape, uses) else None


def direct(shape: Shape, uses: Uses) -> float:
    """Two for every product of a pixel and a weight, forward and for each gradient."""
    products = shape.b * shape.out[0] * shape.out[1] * shape.kernel[0] * shape.kernel[1] * shape.c * shape.o
    return 2.0 * products * (1 + uses.of_x + uses.of_w)


def spectral(shape: Shape, n: Pair, uses: Uses) -> float:
    """The products of matrices, and every transform of the three spectra."""
    slots, depth, rows = _slots(shape, n), _depth(shape), shape.b * _tiles(shape, n)
    lanes = [_up_to(c, 16) / c for c in (shape.c, shape.o)]
    times, back = 1 + uses.of_x + uses.of_w, uses.of_x or uses.of_w
    images = slots * rows * (depth * lanes[0] * times + shape.o * lanes[1] * (1 + back))
    kernel = 0 if uses.kept else slots * shape.o * depth * lanes[0] * times
    looked_at = DIGEST * shape.o * shape.c * shape.kernel[0] * shape.kernel[1] if uses.kept else 0
    if _is_winograd(shape, n):
        multiplied = 2.0 * slots * rows * depth * _up_to(shape.o, PANEL) * times
        return multiplied + OF_IMAGE * images + OF_KERNEL * kernel + looked_at + CALL_WINOGRAD * (1 + back)
    multiplied = 2.0 * slots * (rows + PADDED) * (depth + PADDED) * (shape.o + PADDED) * times
    return multiplied + (45 + 3 * max(n)) * (images + kernel) + looked_at + CALL * (1 + back)


def _cuts(shape: Shape) -> list[Pair]:
    """Transforms that leave few outputs over when the grid is cut into some tiles, and Winograd's."""
    high, wide = (
        sorted({-(-out // tiles) + taps - 1 for tiles in range(1, min(out, MOST_TILES) + 1)})
        for out, taps in zip(shape.out, shape.taps, strict=True)
    )
    taps, n = WINOGRAD
    return [*product(high, wide), *([(n, n)] if shape.taps == (taps, taps) else [])]


def _is_winograd(shape: Shape, n: Pair) -> bool:
    return (*shape.taps, *n) == tuple(k for k in WINOGRAD for _ in range(2))


def _slots(shape: Shape, n: Pair) -> int:
    """Three real numbers for every pair of conjugate frequencies, one for each that is its own conjugate."""
    if _is_winograd(shape, n):
        return n[0] * n[1]
    real = (2 - n[0] % 2) * (2 - n[1] % 2)
    return 3 * (n[0] * n[1] - real) // 2 + real


def _tiles(shape: Shape, n: Pair) -> int:
    h, w = (-(-out // (size - taps + 1)) for out, size, taps in zip(shape.out, n, shape.taps, strict=True))
    return h * w


def _depth(shape: Shape) -> int:
    return shape.c * shape.stride[0] * shape.stride[1]


def _up_to(count: int, whole: int) -> int:
    return -(-count // whole) * whole
