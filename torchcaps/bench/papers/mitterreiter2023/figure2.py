"""Figures 2 and 5: fuzzy parse trees of single images, and of pairs that should agree.

    torchcaps bench run mitterreiter2023/figure2 --scale cpu

Cost at `cpu`: five minutes of one core beside the trainings of table 1, which it shares. As a number: how much of what
children give goes elsewhere in the tree of a digit's warp, beside two copies of a digit with pixel noise of deviation
0.1. Expected: trees of warps differ more; a tree that is the same for every image would differ in neither.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Budget, Picture
from torchcaps.bench.claims import Shown, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023.table1 import CPU, CPU_CUTS, PAPER, PLACED, SETTINGS, SMOKE, SMOKE_CUTS
from torchcaps.bench.table import Column, grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from torchcaps.bench.gather import Gathered


def _draw(found: "Gathered", page: "Figure") -> None:
    """A digit above its warp: couplings, norms, image; of the first seed with N(0, 0.2)."""
    from torchcaps.explain import Tree, draw_bars, draw_edges

    stored, pictures = found.details("normal", "trees"), found.details("normal", "images")
    if not stored:
        return
    grid = page.add_gridspec(2, 3, width_ratios=(2, 2, 1))
    for k, name in enumerate(("a placed digit", "its warp")):
        tree = Tree.from_json(stored[0][k])
        edges, bars, image = (page.add_subplot(grid[k, column]) for column in range(3))
        couplings, norms = draw_edges(edges, tree), draw_bars(bars, tree)
        edges.set_title(f"{name}: couplings, darkest {couplings.full:.2g}")
        bars.set_title(f"norms, full bar {norms.bar:.2g}")
        image.imshow(pictures[0][k], cmap="gray", vmin=0, vmax=1)
        image.set_axis_off()


ARTEFACT = Artefact(
    id="mitterreiter2023/figure2",
    title="Fuzzy parse trees",
    kind="figure",
    rows=PLACED,
    settings=SETTINGS,
    measures=(MeasureSpec("trees"),),
    budgets={
        "smoke": Budget(minutes=0.2, seeds=1, settings=SMOKE, measures={"trees": {"count": 4}}, cuts=SMOKE_CUTS),
        "cpu": Budget(
            minutes=60,
            settings=CPU,
            measures={"trees": {"count": 500}},
            cuts=(*CPU_CUTS, "trees of 500 test images"),
        ),
        "paper": Budget(minutes=9000, seeds=10, settings=PAPER, megabytes=6000),
    },
    tables=(grid(PLACED, [Column("image and warp", "warp", "number"), Column("two noisy copies", "noise", "number")]),),
    pictures=(
        Picture(
            "Trees of a digit and of its warp, first weights N(0, 0.2)",
            "In the paper the edges of two images look much alike in the middle layers, and a similar image can still "
            "have another tree.",
            _draw,
            (11.5, 6.8),
        ),
    ),
    claims={
        "trees": Shown(tuple(row.id for row in PLACED)),
        "warp": greater(At("normal", "warp"), At("normal", "noise")),
    },
)
