"""The median of paired ratios, an interval for it that needs no distribution, and the verdict."""

import math
import statistics
from collections.abc import Sequence

from benchmarks.measure import Ratio

CONFIDENCE = 0.95
FEWEST = 6
"""Of fewer pairs not even the least and the largest are a 95 % interval."""
LIMIT = 1.03
"""A row fails if its whole interval lies above."""


def median(ratios: Sequence[float]) -> Ratio:
    """The median, and the order statistics between which the sign test leaves it.

    >>> median([1.0, 1.1, 0.9, 1.2, 1.0, 1.0])
    Ratio(value=1.0, low=0.9, high=1.2)
    """
    rank = _rank(len(ratios))
    ordered = sorted(ratios)
    return Ratio(statistics.median(ordered), ordered[rank - 1], ordered[-rank])


def passes(found: Ratio) -> bool:
    """Whether the interval includes the limit or lies below it."""
    return found.low <= LIMIT


def _rank(pairs: int) -> int:
    """The largest k such that fewer than k heads in as many throws have a chance of 2.5 % at most."""
    if pairs < FEWEST:
        raise ValueError(f"{pairs} pairs have no interval of {CONFIDENCE:.0%}: at least {FEWEST} are needed")
    chance, rank = 0.0, 0
    while (chance := chance + math.comb(pairs, rank) / 2**pairs) <= (1 - CONFIDENCE) / 2:
        rank += 1
    return rank
