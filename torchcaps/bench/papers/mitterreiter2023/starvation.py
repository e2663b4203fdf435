"""Section 4.3: the gradients of theorems 1 and 2 against autograd, and capsules that die while a network learns.

    torchcaps bench run mitterreiter2023/starvation --scale cpu

Cost at `cpu`: at most 55 minutes of one core beside the trainings of table 1, which it shares. Every 100 steps the
training looks at 128 held-out digits: which capsules are dead, and how large gradients are. Expected: formulas equal;
whether any capsule dies, and whether it stays dead, is a matter of the first weights and of how long training lasts.
With N(0, 0.2) capsules are short at the start, so that those counted as dead early may well come to life.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Budget, Picture, Row
from torchcaps.bench.claims import Claim, below, counted, every, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023.table1 import CPU, CPU_CUTS, PAPER, SETTINGS, SMOKE, SMOKE_CUTS, STARTS
from torchcaps.bench.table import Column, grid
from torchcaps.measures import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from torchcaps.bench.gather import Gathered

ROUTINGS = {"rba": ("Routing by agreement", {}), "uniform": ("Uniform coupling", {"routing": "uniform"})}
ROWS = tuple(
    Row(f"{name}_{start}", f"{routing}, first weights {title}", {"options": {**options, **own}})
    for start, (title, options) in STARTS.items()
    for name, (routing, own) in ROUTINGS.items()
)
COLUMNS = (
    Column("dead at the end", "dead at the end"),
    Column("dead at some checkpoint", "once dead"),
    Column("of these alive at the end", "revived"),
    Column("of those that had lived before, likewise", "returned"),
)


def _draw(found: "Gathered", page: "Figure") -> None:
    """Dead capsules, gradients of capsules and of weights over the training, a row of panels for each network."""
    for k, row in enumerate(ROWS):
        seen = found.details(row.id, "starvation")
        for panel in range(3 if seen else 0):
            axes = page.add_subplot(len(ROWS), 3, 3 * k + panel + 1)
            Result.from_json(seen[0]).draw(axes, panel)
            if panel == 0:
                axes.set_ylabel(row.title.replace(", ", ",\n", 1))


def _deaths(start: str, suffix: str = "") -> dict[str, Claim]:
    return {
        f"stay_dead{suffix}": below(f"rba_{start}", 0.05, "revived"),
        f"uniform{suffix}": greater(f"rba_{start}", f"uniform_{start}", "dead at the end"),
    }


ARTEFACT = Artefact(
    id="mitterreiter2023/starvation",
    title="Starving capsules",
    kind="text",
    rows=ROWS,
    settings=SETTINGS,
    measures=(MeasureSpec("starvation"), MeasureSpec("formulas")),
    budgets={
        "smoke": Budget(minutes=0.3, seeds=1, settings=SMOKE, measures={"formulas": {"count": 2}}, cuts=SMOKE_CUTS),
        "cpu": Budget(minutes=90, settings=CPU, cuts=CPU_CUTS),
        "paper": Budget(minutes=18_000, seeds=10, settings=PAPER),
    },
    tables=(
        grid(ROWS, COLUMNS, "Shares of the hidden capsules"),
        grid(
            ROWS[:1],
            [Column("theorem 1", "theorem 1", "number"), Column("theorem 2", "theorem 2", "number")],
            "Relative error of the formulas",
        ),
    ),
    pictures=(
        Picture(
            "Deaths and gradients while networks learn",
            "In the paper's appendix gradients of dead capsules and of their weights vanish and never come back.",
            _draw,
            (14, 14),
        ),
    ),
    claims={
        "formulas": every(*(counted(At("rba_normal", f"theorem {k}"), "<=", 1e-6) for k in (1, 2))),
        **_deaths("normal"),
        **_deaths("library", "_library"),
    },
)
