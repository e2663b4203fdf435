"""Figure 3: mean and deviation of couplings and norms over a data set, dead capsules marked.

    torchcaps bench run mitterreiter2023/figure3 --scale cpu

Cost at `cpu`: 30 minutes of one core in trainings that table 1 shares, a minute besides. Expected: couplings whose mean
is dark and whose deviation is pale, as nearly static routes have; with both kinds of first weights.
"""

from functools import partial
from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Picture
from torchcaps.bench.claims import Shown
from torchcaps.bench.gather import Gathered
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023 import _networks as networks
from torchcaps.bench.table import Column, grid
from torchcaps.measures import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = (networks.PLACED, networks.PLACED_LIBRARY)


def _draw(found: Gathered, page: "Figure", *, row: str) -> None:
    """The five panels of the paper's figure, of the first seed."""
    for details in found.details(row, "mean tree")[:1]:
        result = Result.from_json(details)
        for panel in range(result.panels):
            result.draw(page.add_subplot(1, result.panels, panel + 1), panel)


ARTEFACT = Artefact(
    id="mitterreiter2023/figure3",
    title="The parse tree of a whole data set",
    kind="figure",
    rows=ROWS,
    settings=networks.SETTINGS,
    measures=(MeasureSpec("mean_tree", {"count": 10_000}),),
    budgets=networks.budgets(30, rows=ROWS, measure="mean_tree"),
    tables=(grid(ROWS, [Column("dead capsules", "dead capsules", "number")]),),
    pictures=tuple(
        Picture(
            row.title,
            "In the paper's figure most couplings hardly deviate, and dead capsules fill layers 3 and 4.",
            partial(_draw, row=row.id),
            (18, 3.4),
        )
        for row in ROWS
    ),
    claims={"statistics": Shown(tuple(row.id for row in ROWS))},
)
