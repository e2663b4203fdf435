"""The number a statement is about: a value for each seed, and a standard error that knows of seeds and of images.

Of S seeds and M units of images (an image, or all images made from one source image), A = var/S of the seeds' values,
with S − 1 below var, and B = max(v, 1/M)/M, where v is the variance over units of the mean over seeds. The squared
standard error is A + B. Student's t has (2A + B)² / ((2A)²/(S − 1) + B²/(M − 1)) degrees of freedom: the formula of
Welch and Satterthwaite, but for the 2. Without it an A that is too small by chance, as it often is of five seeds, has
too many degrees of freedom as well: of 100 simulated claims of 24 true parts, 6.7 were refuted instead of 5 at most.
With fewer than five seeds, where that is worse, there are S − 1, as for numbers that are no shares of images, which
have A alone.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from torchcaps.bench.claims import Slope, Spread, Statement, Sum
from torchcaps.bench.evidence import At, Evidence

LEVEL = 0.05
"""Of the intervals that are shown."""
FEWEST = 5
"""Seeds; with fewer the part of images adds no degrees of freedom."""
DOUBT = 2.0
"""How often A counts in the degrees of freedom."""

Values = float | NDArray[np.float64]
"""One number, or as many as were simulated."""


class Estimate(NamedTuple):
    """A mean, its standard error, and the degrees of freedom of that."""

    mean: Values
    error: Values
    freedom: Values


def estimate(mean: Values, seeds_part: Values, images_part: Values, *, seeds: int, units: int) -> Estimate:
    """A mean with the error of A + B; without any error the freedom is that of the seeds.

    >>> estimate(0.1, 2e-4, 4e-4, seeds=5, units=5).freedom.item()
    8.0
    """
    total = np.asarray(seeds_part) + np.asarray(images_part)
    if seeds < FEWEST:
        return Estimate(mean, np.sqrt(total), float(seeds - 1))
    doubted = DOUBT * np.asarray(seeds_part) + np.asarray(images_part)
    share = np.divide(images_part, doubted, out=np.zeros_like(total), where=total > 0)
    freedom = 1 / ((1 - share) ** 2 / (seeds - 1) + share**2 / max(units - 1, 1))
    return Estimate(mean, np.sqrt(total), freedom)


class Sample(NamedTuple):
    """A statement's number.

    Args:
        values: one for each seed.
        over_images: what the choice of images adds to its squared standard error, max(v, 1/M)/M; 0 without images.
        units: M, how many images, or groups of images from one source, there are.
    """

    values: NDArray[np.float64]
    over_images: float = 0.0
    units: int = 0

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return float(self.values.mean())

    def estimate(self, seeds: int | None = None) -> Estimate:
        """The mean with its error; with `seeds`, were there so many that vary alike."""
        s = len(self.values) if seeds is None else seeds
        return estimate(self.mean, float(self.values.var(ddof=1)) / s, self.over_images, seeds=s, units=self.units)

    def reach(self, level: float) -> float:
        """Half the width of the interval."""
        if len(self.values) < 2:
            return math.inf
        _, error, freedom = self.estimate()
        return float(special.stdtrit(freedom, 1 - level / 2) * error)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Both ends of the interval at a level, 0.05 for 95 %."""
        return self.mean - self.reach(level), self.mean + self.reach(level)


def all_places(claim: Statement) -> tuple[At, ...]:
    """All places a statement speaks of."""
    match claim.what:
        case Sum(terms):
            return tuple(place for place, _ in terms)
        case Slope(rows):
            return rows
        case Spread(a, b):
            return (*a, *b)


def places_of(claim: Statement, evidence: Evidence) -> tuple[At, ...] | None:
    """The places a statement speaks of at this scale; None if too few are left."""
    places = all_places(claim)
    kept = tuple(place for place in places if place.row not in evidence.cut)
    match claim.what:
        case Sum(terms):
            sides = {weight > 0 for _, weight in terms}
            return kept if {weight > 0 for place, weight in terms if place in kept} == sides else None
        case Slope():
            return kept if len(kept) > 1 else None
        case Spread():
            return kept if len(kept) == len(places) else None


def sample_of(claim: Statement, places: Sequence[At], evidence: Evidence, seeds: Sequence[int]) -> Sample:
    """The statement's number, of the places that the scale has left."""
    match claim.what:
        case Sum(terms):
            return _weighted(_weights(terms, places), places, evidence, seeds)
        case Slope():
            ranks = np.arange(len(places)) - (len(places) - 1) / 2
            return _weighted(list(ranks / (ranks**2).sum()), places, evidence, seeds)
        case Spread(a, b):
            strays = [_stray(side, evidence, seeds) for side in (a, b)]
            return Sample(strays[1] - strays[0])


def image_counts(places: Sequence[At], evidence: Evidence, seeds: Sequence[int]) -> set[tuple[int, int]]:
    """On how many images, and how many of a source, numbers rest: one pair, if rows can be compared."""
    found = (evidence[place][seed] for place in places for seed in seeds)
    return {(len(number.images), number.sources) for number in found if number.images is not None}


def _weights(terms: Sequence[tuple[At, float]], kept: Sequence[At]) -> list[float]:
    """The weights of the places that are left: what is added and what is taken off keep their sums."""

    def total(places: Sequence[At], sign: bool) -> float:  # noqa: FBT001
        return sum((weight for place, weight in terms if place in places and (weight > 0) == sign), start=0.0)

    every = [place for place, _ in terms]
    scale = {sign: total(every, sign) / (total(kept, sign) or 1.0) for sign in (True, False)}
    return [weight * scale[weight > 0] for place, weight in terms if place in kept]


def _weighted(weights: Sequence[float], places: Sequence[At], evidence: Evidence, seeds: Sequence[int]) -> Sample:
    values = np.array([[evidence[place][seed].value for seed in seeds] for place in places], dtype=float)
    found = [[evidence[place][seed].images for seed in seeds] for place in places]
    images = [[one for one in row if one is not None] for row in found]
    if not seeds or any(len(row) < len(seeds) for row in images):
        return Sample(np.asarray(weights) @ values)
    by_image = np.asarray(weights) @ np.array([np.mean(row, axis=0) for row in images])
    by_unit = _by_source(by_image, evidence[places[0]][seeds[0]].sources)
    m = len(by_unit)
    return Sample(np.asarray(weights) @ values, max(float(by_unit.var()), 1 / m) / m, m)


def _by_source(by_image: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The mean over the images of each source; the last may have fewer."""
    starts = np.arange(0, len(by_image), count)
    means: NDArray[np.float64] = np.add.reduceat(by_image, starts) / np.diff([*starts, len(by_image)])
    return means


def single(place: At, evidence: Evidence, seeds: Sequence[int]) -> Sample:
    """The number at one place."""
    return _weighted([1.0], [place], evidence, seeds)


def _stray(places: Sequence[At], evidence: Evidence, seeds: Sequence[int]) -> NDArray[np.float64]:
    values = np.array([[evidence[place][seed].value for seed in seeds] for place in places], dtype=float)
    strays: NDArray[np.float64] = np.abs(values - values.mean(1, keepdims=True)).mean(0)
    return strays
