"""The health of a network of capsules at a glance: how many live, how many are needed, whether routes change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.report._section import Section


@dataclass(frozen=True)
class Sign:
    """A figure of the card: what it is, its value, a line that explains it, and whether it is bad news."""

    name: str
    value: str
    detail: str
    alarm: bool = False


@dataclass(frozen=True)
class Health:
    """The card of one network."""

    network: str
    signs: Sequence[Sign]


@dataclass(frozen=True, kw_only=True)
class HealthCards(Section):
    """A card for each network of capsules."""

    template: ClassVar[str] = "health.html"
    title: str = "Capsule health"
    note: str = (
        "A capsule is active for an image if its activation is at least 0.1; it is dead if over all images mean and "
        "deviation of its activation are at most 0.01 (mitterreiter2023, section 4.3; the thresholds are ours)."
    )
    cards: Sequence[Health]
