"""Figures 2 and 5: fuzzy parse trees of single images, and of pairs that should agree.

    torchcaps bench run mitterreiter2023/figure2 --scale cpu

Cost at `cpu`: 30 minutes of one core in trainings that table 1 shares, a minute besides. Capsules are nodes, couplings
fuzzy edges. As a number: how much of what children give goes elsewhere, between the trees of a digit and its warp, and
of two copies of it with pixel noise. Expected: a warp changes the tree more than noise does.
"""

from typing import TYPE_CHECKING

import numpy as np

from torchcaps.bench.artefact import Artefact, Picture
from torchcaps.bench.claims import Shown, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.gather import Gathered
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023 import _networks as networks
from torchcaps.bench.table import Column, grid
from torchcaps.explain import Tree, draw_bars, draw_edges

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = (networks.PLACED, networks.PLACED_LIBRARY)


def _draw(found: Gathered, page: "Figure") -> None:
    """A digit above, its warp below: couplings, norms, the image."""
    trees, images = (found.details("placed", name) for name in ("trees", "images"))
    for k, (tree, image) in enumerate(zip(trees[0], images[0], strict=True) if trees else ()):
        spots = [page.add_subplot(2, 3, 3 * k + column + 1) for column in range(3)]
        draw_edges(spots[0], Tree.from_json(tree))
        draw_bars(spots[1], Tree.from_json(tree))
        spots[2].imshow(np.array(image), cmap="gray", vmin=0, vmax=1)
        spots[2].set_axis_off()
        spots[0].set_title(("digit", "its warp")[k])


ARTEFACT = Artefact(
    id="mitterreiter2023/figure2",
    title="Parse trees of images, and of pairs that should agree",
    kind="figure",
    rows=ROWS,
    settings=networks.SETTINGS,
    measures=(MeasureSpec("trees", {"count": 1000}),),
    budgets=networks.budgets(30, rows=ROWS, count=200, measure="trees"),
    tables=(
        grid(
            ROWS,
            [Column("image and warp", "warp", "number"), Column("two noisy copies", "noise", "number")],
            "How much two trees differ, from 0 to 1",
        ),
    ),
    pictures=(
        Picture("Trees of a digit and of its warp", "In the paper's figure 5 the two trees differ.", _draw, (11, 6)),
    ),
    claims={
        "trees": Shown(("placed",)),
        "warp": greater(At("placed", "warp"), At("placed", "noise")),
    },
)
