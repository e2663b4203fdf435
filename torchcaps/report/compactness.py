"""Semantic compactness: how few numbers of a class capsule carry a transformation (gu2021, table 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.report._section import Section


@dataclass(frozen=True)
class Compact:
    """One network: by factor the mean and deviation over images, None where no capsule moves; and the most possible."""

    network: str
    most: float
    factors: Mapping[str, tuple[float, float] | None]


@dataclass(frozen=True, kw_only=True)
class CompactnessTable(Section):
    """Networks against factors."""

    template: ClassVar[str] = "compactness.html"
    title: str = "How compact their capsules are"
    note: str = (
        "While an image is transformed, how unevenly the numbers of its class's capsule move: 0 if all move alike, "
        "log d if one of d moves alone (divergence from uniform, nats; mean ± deviation over images; gu2021, table 5)."
    )
    factors: Sequence[str]
    rows: Sequence[Compact]
