"""Figure 4: what four networks draw while one number of a class capsule moves.

    torchcaps bench run gu2021/figure4 --scale cpu

Cost at `cpu`: one minute, beside the trainings of table 5, which it shares. CapsNet's numbers move by ±0.2 in steps of
0.05, those of the ConvNets by ±8, as in the paper. As a number: the mean change of a pixel when a unit moves by one
standard deviation of its own over the images of its class. Expected: ConvNet-R answers least, ConvNet-CR-SF most.
"""

import base64
from typing import TYPE_CHECKING

import numpy as np

from torchcaps.bench.artefact import Artefact, Budget, Picture
from torchcaps.bench.claims import Shown, ordered
from torchcaps.bench.gather import Gathered
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.gu2021.table5 import CPU, SETTINGS, SMOKE, TITLES, rows
from torchcaps.bench.table import Column, grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEAR = [round(0.05 * k, 2) for k in range(-4, 5)]
FAR = [2.0 * k for k in range(-4, 5)]
ROWS = tuple(
    type(row)(
        row.id,
        row.title,
        row.settings,
        measures=(MeasureSpec("response", {"count": 500, "deltas": NEAR if row.id == "capsnet_mnist" else FAR}),),
    )
    for row in rows("mnist")
)


def _draw(found: Gathered, page: "Figure") -> None:
    """A sheet for each network: a row for each dimension, those that change the drawing most first."""
    for k, (name, title) in enumerate(TITLES.items()):
        axes = page.add_subplot(1, len(TITLES), k + 1)
        axes.set_axis_off()
        sheets = found.details(f"{name}_mnist", "sheet")
        if not sheets:
            continue
        pixels = np.frombuffer(base64.b64decode(sheets[0]["pixels"]), np.uint8).reshape(sheets[0]["shape"])
        axes.imshow(np.block([list(row) for row in pixels]), cmap="gray", vmin=0, vmax=255)
        axes.set_title(f"{title}, ±{sheets[0]['deltas'][-1]:g}")


ARTEFACT = Artefact(
    id="gu2021/figure4",
    title="Drawings while one dimension moves",
    kind="figure",
    rows=ROWS,
    settings=SETTINGS,
    budgets={
        "smoke": Budget(
            minutes=0.2,
            seeds=1,
            settings=SMOKE,
            measures={"response": {"count": 20}},
            cuts=("convolutions 1/20, 2 steps, 20 test images, one seed",),
        ),
        "cpu": Budget(
            minutes=20,
            settings=CPU,
            measures={"response": {"count": 500}},
            cuts=("as table 5; 500 test images",),
        ),
        "paper": Budget(minutes=1500, seeds=5, megabytes=6000),
    },
    tables=(grid(ROWS, [Column("mean change of a pixel", "response", "number")]),),
    pictures=(
        Picture(
            "One image, four dimensions of its class's capsule",
            "In the paper ConvNet-R's drawings hardly change, those of ConvNet-CR do, those of ConvNet-CR-SF most.",
            _draw,
            (14, 2.6),
        ),
    ),
    claims={
        "drawings": Shown(tuple(row.id for row in ROWS)),
        "response": ordered(["cr_sf_mnist", "cr_mnist", "r_mnist"], "response"),
    },
)
