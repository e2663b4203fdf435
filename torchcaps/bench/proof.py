"""How surely a statement is shown, or refuted: two p-values, each below a level if the interval of that level says so.

With t the tail of Student's t beyond a gap, in standard errors:

- above a value, with a smallest effect of interest δ: shown with p = 2 t(mean − value) if the mean is at least
  value + δ, else 1; refuted with p = 2 t(value + δ − mean). Below a value: the same with all signs changed.
- inside value ± margin: shown with p = the larger of t(mean − lower edge) and t(upper edge − mean); refuted with p =
  the smaller of 2 t(lower edge − mean) and 2 t(mean − upper edge).

So a p-value below α means: the 1 − α interval (to show "inside", that of 1 − 2α) lies where the statement says.
"""

from collections.abc import Sequence

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from torchcaps.bench.claims import Statement
from torchcaps.bench.sample import Estimate, Values


def shown(claim: Statement, found: Estimate) -> Values:
    """The level above which the statement is reproduced."""
    if claim.side == "inside":
        low, high = claim.value - claim.margin, claim.value + claim.margin
        return np.maximum(_tail(found.mean - low, found), _tail(high - found.mean, found))
    sign = 1 if claim.side == "above" else -1
    beyond = sign * (found.mean - claim.value)
    return np.where(beyond >= claim.smallest, _two_sided(beyond, found), 1.0)


def refuted(claim: Statement, found: Estimate) -> Values:
    """The level above which the statement is refuted."""
    if claim.side == "inside":
        low, high = claim.value - claim.margin, claim.value + claim.margin
        return np.minimum(_two_sided(low - found.mean, found), _two_sided(found.mean - high, found))
    sign = 1 if claim.side == "above" else -1
    return _two_sided(claim.smallest - sign * (found.mean - claim.value), found)


def holm(p: Sequence[float], level: float) -> float:
    """The level that each of several p-values is held to, by Holm's step-down at a level for all of them.

    >>> holm([0.001, 0.02, 0.5], 0.05)  # the first is below 0.05/3, the second below 0.05/2, the third not below 0.05
    0.025
    """
    ranked, k = sorted(p), len(p)
    rejected = next((i for i, one in enumerate(ranked) if not one < level / (k - i)), k)
    return level / (k - max(rejected, 1) + 1)


def _two_sided(gap: Values, found: Estimate) -> Values:
    return np.minimum(2 * _tail(gap, found), 1.0)


def _tail(gap: Values, found: Estimate) -> Values:
    """How often chance alone leads so far beyond an edge; without any error a gap is certain."""
    gap, error = np.broadcast_arrays(np.asarray(gap, dtype=float), found.error)
    standard = np.divide(gap, error, out=np.where(gap > 0, np.inf, -np.inf), where=error > 0)
    tail: Values = special.stdtr(found.freedom, -standard)
    return tail
