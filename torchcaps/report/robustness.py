"""Robustness curves: accuracy against the strength of a single transformation, or of an attack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.report._chart import Chart, chart
from torchcaps.report._section import Section


@dataclass(frozen=True)
class Sweep:
    """Accuracy of several networks at the values of one thing that is turned up.

    Attributes:
        heading: what is turned up.
        across: its name and unit, for the axis.
        values: at which the networks were judged.
        accuracy: by network, a share at each value; a network that was not judged is left out.
    """

    heading: str
    across: str
    values: Sequence[float]
    accuracy: Mapping[str, Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class RobustnessCurves(Section):
    """A chart for each transformation or attack, a line for each network."""

    template: ClassVar[str] = "robustness.html"
    title: str = "How much they withstand"
    note: str = (
        "Accuracy while one thing is turned up and all else stays as it is. A transformation is not fitted to the "
        "canvas: what leaves it is cut."
    )
    networks: Sequence[str]
    sweeps: Sequence[Sweep]

    @property
    def charts(self) -> list[tuple[Sweep, Chart, list[list[str]]]]:
        """For each sweep the drawing, and the values of its lines as text; colours go by network, as everywhere."""
        made = []
        for sweep in self.sweeps:
            lines = [list(sweep.accuracy.get(name, ())) for name in self.networks]
            said = [[f"{100 * v:.1f} %" for v in line] for line in lines]
            made.append((sweep, chart(lines, x=sweep.values, percent=True, whole=True), said))
        return made
