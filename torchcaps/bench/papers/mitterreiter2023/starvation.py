"""Theorems 1 and 2 against autograd, and capsules that die while a network learns.

    torchcaps bench run mitterreiter2023/starvation --scale cpu

Cost at `cpu`: 80 minutes of one core, half of it in trainings that table 1 shares. Every 200 steps the same 128 images
are looked at: which hidden capsules are dead (mean and deviation at most 0.01), and what gradients reach them. With
N(0, 0.2) capsules are that short before they have learned anything; the claim is about all that are dead at some
checkpoint, and those that had lived before they died are told beside. Expected: the formulas hold to rounding; dead
capsules stay dead, where there are any, and uniform coupling has fewer.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Picture, Row
from torchcaps.bench.claims import below, counted, every, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.gather import Gathered
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023 import _networks as networks
from torchcaps.bench.table import Cell, Column, TableSpec, grid
from torchcaps.measures import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAINED = (
    networks.PLACED,
    Row("uniform", "uniform coupling, N(0, 0.2)", {"options": {"init_std": 0.2, "routing": "uniform"}}),
    networks.PLACED_LIBRARY,
    Row("uniform_library", "uniform coupling, the library's start", {"options": {"routing": "uniform"}}),
)
ROWS = (Row("formulas", "theorems 1 and 2", None, measures=(MeasureSpec("formulas"),)), *TRAINED)
DEAD = "dead at the end"
COLUMNS = (
    Column("dead at the end", DEAD),
    Column("dead at some checkpoint", "once dead"),
    Column("of these, alive at the end", "revived"),
    Column("the same, of those that had lived before", "returned"),
)


def _draw(found: Gathered, page: "Figure") -> None:
    """Deaths and gradients over the training, of the first seed of each network."""
    for k, row in enumerate(TRAINED):
        for details in found.details(row.id, "starvation")[:1]:
            result = Result.from_json(details)
            for panel in range(result.panels):
                axes = page.add_subplot(len(TRAINED), result.panels, k * result.panels + panel + 1)
                result.draw(axes, panel)
                axes.set_title(f"{row.title}: {axes.get_title().lower()}", fontsize=8)


ARTEFACT = Artefact(
    id="mitterreiter2023/starvation",
    title="Capsules that starve",
    kind="text",
    rows=ROWS,
    settings=networks.SETTINGS,
    measures=(MeasureSpec("starvation"),),
    budgets=networks.budgets(80, rows=ROWS, count=128, measure="formulas"),
    tables=(
        TableSpec(
            ("theorem 1", "theorem 2"),
            (("relative error", tuple(Cell(At("formulas", f"theorem {k}"), 0.0, "number") for k in (1, 2))),),
        ),
        grid(TRAINED, COLUMNS, "Hidden capsules"),
    ),
    pictures=(
        Picture("While networks learn", "The paper's dead capsules have no gradients, and stay dead.", _draw, (13, 12)),
    ),
    claims={
        "formulas": every(*(counted(At("formulas", f"theorem {k}"), "<=", 1e-6) for k in (1, 2))),
        "stay_dead": below(At("placed", "revived"), 0.05),
        "uniform": greater(At("placed", DEAD), At("uniform", DEAD)),
        "stay_dead_library": below(At("placed_library", "revived"), 0.05),
        "uniform_library": greater(At("placed_library", DEAD), At("uniform_library", DEAD)),
    },
)
