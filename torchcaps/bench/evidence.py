"""What verdicts are made from: numbers by row, name and seed, and why some are not there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class At(NamedTuple):
    """Where a number stands: the row of the table, and the name of the number in it."""

    row: str
    on: str

    def __str__(self) -> str:
        return f"{self.row} ({self.on})"


@dataclass(frozen=True)
class Number:
    """One number of one row and seed.

    Args:
        value: None if it is not defined here, such as routing dynamics towards a single living parent.
        images: 1 for each test image that was right, 0 for the others; None if the number is no share of images.
        answers: among how many equally likely answers chance would choose; 0 if the number is no accuracy.
        sources: how many images in a row come from one source image, so that their outcomes are not independent.
        parts: of a number between two others: both of them, and the weight of the second.
    """

    value: float | int | None
    images: NDArray[np.bool_] | NDArray[np.float64] | None = None
    answers: int = 0
    sources: int = 1
    parts: "tuple[Number, Number, float] | None" = None

    @classmethod
    def share(cls, images: NDArray[np.bool_], answers: int, sources: int = 1) -> "Number":
        """An accuracy, from its outcomes image by image."""
        return cls(float(np.mean(images)), images, answers, sources)

    @classmethod
    def between(cls, a: "Number", b: "Number", weight: float) -> "Number":
        """The number (1 − weight)·a + weight·b, image by image: what a course has between two checkpoints.

        >>> a, b = (Number.share(np.array(right), 10) for right in ([True, False], [True, True]))
        >>> Number.between(a, b, 0.25).images.tolist()
        [1.0, 0.25]
        """
        if not 0 <= weight <= 1:
            raise ValueError(f"weight={weight} is not allowed: a number between two others has one from 0 to 1")
        if a.value is None or b.value is None:
            return cls(None)
        value = (1 - weight) * a.value + weight * b.value
        if a.images is None or b.images is None:
            return cls(value)
        if a.parts or b.parts:
            raise ValueError("a number between two others is made of numbers at checkpoints, not of others between")
        if (len(a.images), a.answers, a.sources) != (len(b.images), b.answers, b.sources):
            raise ValueError(
                f"numbers of {len(a.images)} and {len(b.images)} images, {a.answers} and {b.answers} answers, "
                f"{a.sources} and {b.sources} images of each source: these are not the same images"
            )
        images = (1 - weight) * a.images.astype(float) + weight * b.images.astype(float)
        return cls(value, images, a.answers, a.sources, (a, b, weight))


@dataclass(frozen=True)
class Evidence:
    """All numbers of an artefact at one scale.

    Args:
        numbers: by place, then by seed.
        absent: rows of which nothing is known, with the reason: "data unavailable", "failed: …".
        cut: rows that the scale leaves out.
        missed: rows that did not reach the accuracy at which rows are compared, with the seeds.
        first_seed: where the looks at the seeds begin.
        own: rows with seeds of their own, and these seeds.
    """

    numbers: Mapping[At, Mapping[int, Number]]
    absent: Mapping[str, str] = field(default_factory=dict)
    cut: frozenset[str] = frozenset()
    missed: Mapping[str, Sequence[int]] = field(default_factory=dict)
    first_seed: int = 0
    own: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __getitem__(self, place: At) -> Mapping[int, Number]:
        return self.numbers.get(place, {})

    def seeds(self, places: Sequence[At]) -> list[int]:
        """The seeds that all places share: rows are compared seed by seed."""
        found = [set(self[place]) for place in places]
        return sorted(set.intersection(*found)) if found else []

    def only(self, seeds: Collection[int]) -> "Evidence":
        """The same with these seeds alone; rows with seeds of their own keep them."""
        numbers = {
            at: found if at.row in self.own else {seed: number for seed, number in found.items() if seed in seeds}
            for at, found in self.numbers.items()
        }
        missed = {row: [seed for seed in of if seed in seeds] for row, of in self.missed.items()}
        return replace(self, numbers={at: found for at, found in numbers.items() if found}, missed=missed)
