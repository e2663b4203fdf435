"""Figure 3: mean and deviation of couplings and norms over a data set, dead capsules marked.

    torchcaps bench run mitterreiter2023/figure3 --scale cpu

Cost at `cpu`: one minute of one core beside the trainings of table 1, which it shares. Expected: with N(0, 0.2) mean
couplings far from equal and small deviations in the middle layers, so that routes are the same for most images; with
the library's own first weights couplings nearer to equal.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Budget, Picture
from torchcaps.bench.claims import Shown
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023.table1 import CPU, CPU_CUTS, PAPER, PLACED, SETTINGS, SMOKE, SMOKE_CUTS
from torchcaps.bench.table import Column, grid
from torchcaps.measures import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from torchcaps.bench.gather import Gathered


def _draw(found: "Gathered", page: "Figure") -> None:
    """The paper's five panels, a row for each start, of the first seed."""
    across = 5
    for k, row in enumerate(PLACED):
        trees = found.details(row.id, "mean tree")
        for panel in range(across if trees else 0):
            axes = page.add_subplot(len(PLACED), across, across * k + panel + 1)
            Result.from_json(trees[0]).draw(axes, panel)
            title = axes.get_title().replace(", ", ",\n").replace(": ", ":\n")
            axes.set_title(f"{row.title.split(', ', 1)[1]}\n{title}", fontsize=9)


ARTEFACT = Artefact(
    id="mitterreiter2023/figure3",
    title="Parse trees over a data set",
    kind="figure",
    rows=PLACED,
    settings=SETTINGS,
    measures=(MeasureSpec("mean_tree", {"view": "affine"}),),
    budgets={
        "smoke": Budget(minutes=0.2, seeds=1, settings=SMOKE, measures={"mean_tree": {"count": 20}}, cuts=SMOKE_CUTS),
        "cpu": Budget(
            minutes=60,
            settings=CPU,
            measures={"mean_tree": {"count": 2000}},
            cuts=(*CPU_CUTS, "statistics over 2,000 test images"),
        ),
        "paper": Budget(minutes=9000, seeds=10, settings=PAPER),
    },
    tables=(grid(PLACED, [Column("dead capsules of 74", "dead capsules", "number")]),),
    pictures=(
        Picture(
            "Mean and deviation of couplings (a, b) and norms (c, d), dead capsules (e)",
            "In the paper a few edges of each layer are dark in the mean and pale in the deviation, and many capsules "
            "of layers 3 and 4 are dead.",
            _draw,
            (20, 8),
        ),
    ),
    claims={"statistics": Shown(tuple(row.id for row in PLACED))},
)
