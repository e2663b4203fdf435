"""Random numbers that depend on nothing but where they are asked for: (seed, epoch, index, stream).

A sample is the same whatever the batch it comes in and whoever asks, and all samples of a batch are drawn at once. The
generator is SplitMix64 used as a hash (Steele et al. 2014).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


_GOLDEN = _signed(0x9E3779B97F4A7C15)
_MIX = (_signed(0xBF58476D1CE4E5B9), _signed(0x94D049BB133111EB))


def _shift(z: Tensor, bits: int) -> Tensor:
    """A right shift that brings in zeros."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def _hash(z: Tensor) -> Tensor:
    z = (z ^ _shift(z, 30)) * _MIX[0]
    z = (z ^ _shift(z, 27)) * _MIX[1]
    return z ^ _shift(z, 31)


def bits(seed: int, epoch: int, index: Int[Tensor, " b"], stream: int) -> Int[Tensor, " b"]:
    """64 random bits for each index."""
    z = torch.zeros_like(index) + seed
    for part in (epoch, index, stream):
        z = _hash(z * _GOLDEN + part)
    return _hash(z + _GOLDEN)


def uniform(
    seed: int, epoch: int, index: Int[Tensor, " b"], stream: int, low: float = 0.0, high: float = 1.0
) -> Float[Tensor, " b"]:
    """Numbers between `low` and `high`.

    >>> index = torch.arange(1000)
    >>> u = uniform(0, 0, index, 0)
    >>> bool(((u >= 0) & (u < 1)).all()), torch.equal(u[5:6], uniform(0, 0, index[5:6], 0))
    (True, True)
    """
    return low + (high - low) * (_shift(bits(seed, epoch, index, stream), 40).float() / (1 << 24))


def integers(seed: int, epoch: int, index: Int[Tensor, " b"], stream: int, count: int) -> Int[Tensor, " b"]:
    """Whole numbers from 0 to count − 1.

    >>> sorted(set(integers(0, 0, torch.arange(100), 0, 3).tolist()))
    [0, 1, 2]
    """
    return _shift(bits(seed, epoch, index, stream), 33) % count


def permutation(seed: int, epoch: int, count: int) -> Int[Tensor, " n"]:
    """The order of an epoch.

    >>> sorted(permutation(0, 1, 5).tolist())
    [0, 1, 2, 3, 4]
    """
    return bits(seed, epoch, torch.arange(count), -1).argsort(stable=True)
