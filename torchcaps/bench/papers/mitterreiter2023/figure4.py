"""Figure 4: do capsules stay as active when an image is transformed, layer by layer?

    torchcaps bench run mitterreiter2023/figure4 --scale cpu

Cost at `cpu`: 35 minutes of one core in trainings that table 1 shares, five minutes besides. The correlation, not
centred, of each capsule's activations for images and their transforms; both signs of a strength averaged. Expected: it
falls as transformations grow, in every layer but the output.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Picture
from torchcaps.bench.claims import every, falls
from torchcaps.bench.evidence import At
from torchcaps.bench.gather import Gathered
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023 import _networks as networks
from torchcaps.bench.table import Cell, TableSpec
from torchcaps.measures import Result
from torchcaps.measures.sweep import FACTORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = (networks.PLACED, networks.PLACED_LIBRARY)
LAYERS, STRENGTHS = (1, 2, 3, 4), (1, 2, 3, 4, 5)


def _draw(found: Gathered, page: "Figure") -> None:
    """Correlation against strength, a panel for each transformation, a line for each layer."""
    for details in found.details("placed", "invariance")[:1]:
        result = Result.from_json(details)
        for panel in range(result.panels):
            result.draw(page.add_subplot(2, 3, panel + 1), panel)


ARTEFACT = Artefact(
    id="mitterreiter2023/figure4",
    title="Activations under growing transformations",
    kind="figure",
    rows=ROWS,
    settings=networks.SETTINGS,
    measures=(MeasureSpec("invariance", {"count": 10_000}),),
    budgets=networks.budgets(40, rows=ROWS, count=300, measure="invariance"),
    tables=(
        TableSpec(
            tuple(f"layer {layer}" for layer in (*LAYERS, 5)),
            tuple(
                (
                    factor.replace("_", " "),
                    tuple(Cell(At("placed", f"{factor}/{layer}/5"), form="number") for layer in (*LAYERS, 5)),
                )
                for factor in FACTORS
            ),
            "Correlation at the greatest strength, N(0, 0.2)",
        ),
    ),
    pictures=(
        Picture("Correlation and strength", "The paper's curves fall in every layer but the output.", _draw, (13, 7)),
    ),
    claims={
        "invariance": every(
            *(
                falls([At("placed", f"{factor}/{layer}/{s}") for s in STRENGTHS])
                for factor in FACTORS
                for layer in LAYERS
            )
        )
    },
)
