"""Supplement 6.2: a universal perturbation, drawn by a generator that is told random wrong labels.

    torchcaps bench run chen2019/whitebox --scale cpu

Cost at `cpu`: about 20 minutes of one core; trainings are those of table 3. The paper gives no bound: L∞ norms from 0.1
to 0.5 are swept, 0.3 is judged, beside noise of equal norm. Expected: all three networks fall, noise leaves them alone.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Budget, Picture, Row
from torchcaps.bench.claims import above, below, every
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.chen2019 import table3
from torchcaps.bench.table import Column, grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from torchcaps.bench.gather import Gathered

BOUNDS = (0.1, 0.2, 0.3, 0.5)
JUDGED = 0.3
ROWS = tuple(Row(row.id, row.title, row.settings) for row in table3.ROWS)


def curves(found: "Gathered", figure: "Figure") -> None:
    """Accuracy against iterations of the attack, beside noise of equal norm, the mean over seeds."""
    from torchcaps.measures._axes import line_style

    axes = figure.subplots()
    for k, row in enumerate(ROWS):
        for name, style in (("universal", "-"), ("noise", ":")):
            seeds = [kept[f"{name}/{JUDGED:g}"] for kept in found.details(row.id, "curves")]
            if seeds:
                means = [100 * sum(curve[t][1] for curve in seeds) / len(seeds) for t in range(len(seeds[0]))]
                label = row.title + (", noise" if name == "noise" else "")
                axes.plot([at for at, _ in seeds[0]], means, label=label, **{**line_style(k), "linestyle": style})
    axes.set(xlabel="iterations of the attack", ylabel="accuracy, %", ylim=(0, 101))
    axes.legend()


ARTEFACT = Artefact(
    id="chen2019/whitebox",
    title="A universal perturbation",
    kind="figure",
    rows=ROWS,
    settings=table3.ARTEFACT.settings,
    measures=(MeasureSpec("universal", {"eps": BOUNDS, "iterations": 200}),),
    budgets={
        "smoke": Budget(
            minutes=0.3,
            seeds=1,
            settings=table3.ARTEFACT.budgets["smoke"].settings,
            measures={"universal": {"count": 30, "eps": [JUDGED], "iterations": 4, "every": 2}},
            cuts=("100 images, a twentieth of the width; 30 test images, 4 iterations, one bound",),
        ),
        "cpu": Budget(
            minutes=20,
            settings=table3.ARTEFACT.budgets["cpu"].settings,
            measures={"universal": {"count": 1000, "every": 20}},
            cuts=(*table3.ARTEFACT.budgets["cpu"].cuts[:1], "1,000 test images"),
        ),
        "paper": Budget(minutes=3000, seeds=5),
    },
    tables=(
        grid(ROWS, [Column(f"L∞ {eps:g}", f"universal/{eps:g}") for eps in BOUNDS], "Universal perturbation"),
        grid(ROWS, [Column(f"L∞ {eps:g}", f"noise/{eps:g}") for eps in BOUNDS], "Noise of equal norm"),
    ),
    pictures=(Picture("Decline", "The paper's curves fall to about a tenth within 100 iterations.", curves),),
    claims={
        "universal": every(
            *(
                below(row.id, 0.2, f"universal/{JUDGED:g}", controls=[above(row.id, 0.5, f"noise/{JUDGED:g}")])
                for row in ROWS
            )
        )
    },
)
