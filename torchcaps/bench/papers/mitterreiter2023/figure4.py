"""Figure 4: whether capsules stay as active when an image is transformed, by the strength of the transformation.

    torchcaps bench run mitterreiter2023/figure4 --scale cpu

Cost at `cpu`: five minutes of one core beside the trainings of table 1, which it shares. Six transformations at five
strengths each, over the affine range; activations with and without them, as a correlation that is not centred.
Expected: it falls with the strength in all layers; a correlation of norms that are never far from their mean stays
near 1 whatever happens, so that falls are small in the primary layer.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Budget, Picture
from torchcaps.bench.claims import every, falls
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023.table1 import CPU, CPU_CUTS, PAPER, PLACED, SETTINGS, SMOKE, SMOKE_CUTS
from torchcaps.bench.table import Cell, TableSpec
from torchcaps.measures import FACTORS, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from torchcaps.bench.gather import Gathered

STRENGTHS = (1, 2, 3, 4, 5)
LAYERS = (1, 2, 3, 4)


def _places(row: str, factor: str, layer: int) -> list[At]:
    return [At(row, f"{factor}/{layer}/{strength}") for strength in STRENGTHS]


def _table(row: str, title: str) -> TableSpec:
    lines = tuple(
        (f"{factor.replace('_', ' ')}, layer {layer}", tuple(Cell(at, None, "number") for at in places))
        for factor in FACTORS
        for layer in (*LAYERS, 5)
        for places in [_places(row, factor, layer)]
    )
    return TableSpec(tuple(f"strength {k}/5" for k in STRENGTHS), lines, title)


def _draw(found: "Gathered", page: "Figure") -> None:
    """A panel for each transformation, a line for each layer; of the first seed with N(0, 0.2)."""
    kept = found.details("normal", "invariance")
    for panel in range(len(FACTORS) if kept else 0):
        Result.from_json(kept[0]).draw(page.add_subplot(2, 3, panel + 1), panel)


ARTEFACT = Artefact(
    id="mitterreiter2023/figure4",
    title="Activations under affine transformations",
    kind="figure",
    rows=PLACED,
    settings=SETTINGS,
    measures=(MeasureSpec("invariance"),),
    budgets={
        "smoke": Budget(minutes=0.3, seeds=1, settings=SMOKE, measures={"invariance": {"count": 4}}, cuts=SMOKE_CUTS),
        "cpu": Budget(
            minutes=60,
            settings=CPU,
            measures={"invariance": {"count": 500}},
            cuts=(*CPU_CUTS, "500 test images"),
        ),
        "paper": Budget(minutes=9000, seeds=10, settings=PAPER),
    },
    tables=tuple(_table(row.id, row.title) for row in PLACED),
    pictures=(
        Picture(
            "Correlation of activations, first weights N(0, 0.2)",
            "In the paper correlations fall as transformations get stronger, for every transformation and all layers "
            "but the last.",
            _draw,
            (13, 7),
        ),
    ),
    claims={"invariance": every(*(falls(_places("normal", factor, k)) for factor in FACTORS for k in LAYERS))},
)
