"""What verdicts are made from: numbers by row, name and seed, and why some are not there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    """

    value: float | int | None
    images: NDArray[np.bool_] | None = None
    answers: int = 0

    @classmethod
    def share(cls, images: NDArray[np.bool_], answers: int) -> "Number":
        """An accuracy, from its outcomes image by image."""
        return cls(float(np.mean(images)), images, answers)


@dataclass(frozen=True)
class Evidence:
    """All numbers of an artefact at one scale.

    Args:
        numbers: by place, then by seed.
        absent: rows of which nothing is known, with the reason: "data unavailable", "failed: …".
        cut: rows that the scale leaves out.
        missed: rows that did not reach the accuracy at which rows are compared, with the seeds.
    """

    numbers: Mapping[At, Mapping[int, Number]]
    absent: Mapping[str, str] = field(default_factory=dict)
    cut: frozenset[str] = frozenset()
    missed: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __getitem__(self, place: At) -> Mapping[int, Number]:
        return self.numbers.get(place, {})

    def seeds(self, places: Sequence[At]) -> list[int]:
        """The seeds that all places share: rows are compared seed by seed."""
        found = [set(self[place]) for place in places]
        return sorted(set.intersection(*found)) if found else []
