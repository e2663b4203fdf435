"""Section 4.3: FGSM through a LeNet leaves the CNN and both G-CapsNets near chance.

    torchcaps bench run chen2019/blackbox --scale cpu

Cost at `cpu`: about 15 minutes of one core; trainings are those of table 3. The paper bounds a perturbation by "8"
without a unit, and its 11.35 % and 8.92 % are the shares of single classes: 8 grey levels of 255, and 8 times the
image's range, are both judged. Expected: 8/255 hardly hurts, 8 leaves one answer for all images.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import Claim, alike, below, every
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.chen2019 import table3
from torchcaps.bench.table import Column, grid

PRINTED = {"baseline": 11.35, "fc": 8.92, "conv": 11.35}
LENET = {"model": "chen2019/lenet"}
BYTES, UNITS = 8 / 255, 8.0
SWEEP = (BYTES, 0.1, 0.2, 0.3, 0.5, 1.0)
CLIPPED, UNCLIPPED, LARGE = f"clipped/{BYTES:.4g}", f"unclipped/{BYTES:.4g}", f"unclipped/{UNITS:.4g}"
NAMES = [row.id for row in table3.ROWS]


def _row(row: Row) -> Row:
    return Row(row.id, row.title, row.settings, {"paper, “8”": PRINTED[row.id]}, others=(LENET,))


ROWS = tuple(map(_row, table3.ROWS))


def _all_below(on: str) -> Claim:
    return every(*(below(row, 0.2, on) for row in NAMES))


def _all_alike(on: str) -> Claim:
    pairs = [(a, b) for k, a in enumerate(NAMES) for b in NAMES[k + 1 :]]
    return every(*(alike(a, b, on, margin=0.1) for a, b in pairs))


ARTEFACT = Artefact(
    id="chen2019/blackbox",
    title="FGSM through a LeNet",
    kind="text",
    rows=ROWS,
    settings=table3.ARTEFACT.settings,
    measures=(MeasureSpec("transferred", {"eps": SWEEP, "unclipped": (*SWEEP, 2.0, UNITS)}),),
    budgets={
        "smoke": Budget(
            minutes=0.3,
            seeds=1,
            settings=table3.ARTEFACT.budgets["smoke"].settings,
            measures={"transferred": {"count": 30}},
            cuts=("100 images, a twentieth of the width; 30 test images",),
        ),
        "cpu": Budget(
            minutes=15,
            settings=table3.ARTEFACT.budgets["cpu"].settings,
            measures={"transferred": {"count": 2000}},
            cuts=(*table3.ARTEFACT.budgets["cpu"].cuts[:1], "2,000 test images"),
        ),
        "paper": Budget(minutes=3000, seeds=5),
    },
    tables=(
        grid(ROWS, [Column("paper, “8”", LARGE), Column("8/255", CLIPPED), Column("8/255, unclipped", UNCLIPPED)]),
        grid(ROWS, [Column(f"eps {eps:.2g}", f"clipped/{eps:.4g}") for eps in SWEEP], "Clipped to the image's range"),
    ),
    claims={
        "below_bytes": _all_below(CLIPPED),
        "alike_bytes": _all_alike(CLIPPED),
        "below_bytes_unclipped": _all_below(UNCLIPPED),
        "alike_bytes_unclipped": _all_alike(UNCLIPPED),
        "below_units": _all_below(LARGE),
        "alike_units": _all_alike(LARGE),
    },
)
