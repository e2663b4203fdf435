"""Training curves: loss and validation accuracy, an epoch a point."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.report._chart import Chart, chart
from torchcaps.report._section import Section


@dataclass(frozen=True)
class Curve:
    """What one network's training left behind, one value an epoch; a value that is not finite is not drawn."""

    name: str
    loss: Sequence[float]
    accuracy: Sequence[float]


@dataclass(frozen=True, kw_only=True)
class Curves(Section):
    """Two charts, with a line for each network."""

    template: ClassVar[str] = "curves.html"
    title: str = "How they learned"
    note: str = "Each network is trained with its own loss: compare the shapes of the curves, not their heights."
    curves: Sequence[Curve]

    @property
    def charts(self) -> list[tuple[str, Chart, list[list[str]]]]:
        """For each chart a heading, the drawing, and the values of its lines as text."""
        losses, accuracies = [c.loss for c in self.curves], [c.accuracy for c in self.curves]
        return [
            (
                "Training loss (logarithmic axis)",
                chart(losses, log=True),
                [[f"{v:.3g}" for v in values] for values in losses],
            ),
            (
                "Validation accuracy",
                chart(accuracies, percent=True),
                [[f"{100 * v:.1f} %" for v in values] for values in accuracies],
            ),
        ]
