"""Laws fitted to costs: powers of sizes, and sums of terms."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A fitted number and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def fit(columns: Sequence[Sequence[float | int]], values: Sequence[float]) -> tuple[Estimate, ...]:
    """Least squares: what each column is multiplied with so that they add up to the values; intervals by Student's t.

    >>> [round(e.value, 6) for e in fit([[1, 1, 1], [0, 1, 2]], [3.0, 5.0, 7.0])]
    [3.0, 2.0]
    """
    from scipy.stats import t  # type: ignore[import-untyped]

    a, y = np.array(columns, dtype=float).T, np.array(values, dtype=float)
    free = len(y) - a.shape[1]
    if free < 1:
        raise ValueError(f"{len(y)} points are too few to fit {a.shape[1]} numbers: there must be one more at least")
    found, *_ = np.linalg.lstsq(a, y, rcond=None)
    spread = ((a @ found - y) ** 2).sum() / free
    reach = t.ppf(0.975, free) * np.sqrt(np.diag(np.linalg.inv(a.T @ a)) * spread)
    return tuple(Estimate(float(v), float(v - r), float(v + r)) for v, r in zip(found, reach, strict=True))


def powers(sizes: Sequence[Sequence[float | int]], values: Sequence[float]) -> tuple[Estimate, ...]:
    """The exponents of a product of powers, each size varying: a line through logarithms.

    >>> [round(e.value, 6) for e in powers([[1, 2, 4, 8], [1, 3, 9, 3]], [2.0, 24.0, 288.0, 384.0])]
    [2.0, 1.0]
    """
    logs = [np.log(np.array(size, dtype=float)).tolist() for size in sizes]
    return fit([[1.0] * len(values), *logs], np.log(np.array(values, dtype=float)).tolist())[1:]


def shares(terms: Sequence[Sequence[float | int]], values: Sequence[float]) -> tuple[Estimate, ...]:
    """The coefficients of a sum of terms; every point counts by its relative error, since costs span decades."""
    return fit([[t / v for t, v in zip(term, values, strict=True)] for term in terms], [1.0] * len(values))
