"""Activity by layer: norms, active and dead capsules, and how much routes change (mitterreiter2023, tables 1 and 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.report._section import Section


@dataclass(frozen=True)
class LayerLine:
    """A layer of capsules; None where something is not defined, and then `why` says why.

    Attributes:
        mean, active, dead: of activations, and shares of capsules.
        dynamics, targets: of the layer's capsules as children, dyr and dys; None for the last layer.
    """

    layer: str
    capsules: int
    mean: float | None
    active: float | None
    dead: float | None
    dynamics: float | None
    targets: float | None
    why: str = ""


@dataclass(frozen=True)
class NetworkActivity:
    """The layers of one network, from the primary capsules up."""

    network: str
    layers: Sequence[LayerLine]

    @property
    def whys(self) -> list[str]:
        """What is not defined, each reason once."""
        said: dict[str, list[str]] = {}
        for line in self.layers:
            if line.why:
                said.setdefault(line.why, []).append(line.layer)
        return [f"{', '.join(layers)}: {why}." for why, layers in said.items()]


@dataclass(frozen=True, kw_only=True)
class ActivityByLayer(Section):
    """A table for each network of capsules."""

    template: ClassVar[str] = "activity.html"
    title: str = "How active, layer by layer"
    note: str = (
        "Dynamics (dyr) tells how much a layer's couplings change from image to image, 0 never and 1 as much as they "
        "can; targets (dys) is that times the number of parents. Over living capsules, where it is known which live."
    )
    networks: Sequence[NetworkActivity]
