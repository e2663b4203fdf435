"""The number a statement is about: a value for each seed, and a standard error that knows of seeds and of images."""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from torchcaps.bench.claims import Slope, Spread, Statement, Sum
from torchcaps.bench.evidence import At, Evidence

LEVEL = 0.05


class Sample(NamedTuple):
    """A statement's number.

    Args:
        values: one for each seed.
        over_images: what the choice of images adds to its squared standard error, max(v, 1/M)/M; 0 without images.
    """

    values: NDArray[np.float64]
    over_images: float = 0.0

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return float(self.values.mean())

    def reach(self, level: float, seeds: int | None = None) -> float:
        """Half the width of the interval; with `seeds`, were there so many that vary alike."""
        s = len(self.values) if seeds is None else seeds
        if s < 2:
            return math.inf
        error = float(self.values.var(ddof=1)) / s + self.over_images
        return _quantile(1 - level / 2, s - 1) * math.sqrt(error)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Both ends of the interval at a level, 0.05 for 95 %."""
        return self.mean - self.reach(level), self.mean + self.reach(level)


@cache
def _quantile(p: float, freedom: int) -> float:
    return float(stats.t.ppf(p, freedom))


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


def image_counts(places: Sequence[At], evidence: Evidence, seeds: Sequence[int]) -> set[int]:
    """On how many images the numbers rest that are shares of images: one count, if rows can be compared."""
    found = (evidence[place][seed].images for place in places for seed in seeds)
    return {len(images) for images in found if images is not None}


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
    m = len(images[0][0])
    by_image = np.asarray(weights) @ np.array([np.mean(row, axis=0) for row in images])
    return Sample(np.asarray(weights) @ values, max(float(by_image.var()), 1 / m) / m)


def single(place: At, evidence: Evidence, seeds: Sequence[int]) -> Sample:
    """The number at one place."""
    return _weighted([1.0], [place], evidence, seeds)


def _stray(places: Sequence[At], evidence: Evidence, seeds: Sequence[int]) -> NDArray[np.float64]:
    values = np.array([[evidence[place][seed].value for seed in seeds] for place in places], dtype=float)
    strays: NDArray[np.float64] = np.abs(values - values.mean(1, keepdims=True)).mean(0)
    return strays
