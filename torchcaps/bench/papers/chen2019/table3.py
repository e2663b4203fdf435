"""Table 3: error on images that an AC-GAN draws after each of its first five epochs.

    torchcaps bench run chen2019/table3 --scale cpu

Cost at `cpu`: about 35 minutes of one core, a generator for each seed and row. Expected: early images are hard, later
ones easy for all; which network does best on them may differ from generator to generator.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import alike, every, greater
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid

EPOCHS = (1, 2, 3, 4, 5)
PRINTED = {
    "baseline": (19.800, 5.600, 0.725, 0.001, 0.003),
    "fc": (23.500, 3.250, 0.000, 0.000, 0.000),
    "conv": (19.725, 4.050, 0.700, 0.000, 0.001),
}


def _row(name: str, title: str, model: str, **options: object) -> Row:
    printed = {f"epoch {epoch}": figure for epoch, figure in zip(EPOCHS, PRINTED[name], strict=True)}
    return Row(name, title, {"model": model, "options": options}, printed)


ROWS = (
    _row("baseline", "CNN", "chen2019/cnn"),
    _row("fc", "FC G-CapsNet", "chen2019/fc_gcaps", reconstruction="none"),
    _row("conv", "Conv G-CapsNet", "chen2019/conv_gcaps", reconstruction="none"),
)

ARTEFACT = Artefact(
    id="chen2019/table3",
    title="Error on images of an AC-GAN's early epochs",
    kind="table",
    rows=ROWS,
    settings={"data": "mnist", "batch_size": 128, "lr": 1e-3, "epochs": 50},
    measures=(MeasureSpec("drawn"),),
    budgets={
        "smoke": Budget(
            minutes=0.3,
            seeds=1,
            settings={"images": 100, "epochs": 1, "options": {"width": 0.05}},
            measures={"drawn": {"images": 100, "width": 0.05, "per_class": 5}},
            cuts=("100 images, a twentieth of the width",),
        ),
        "cpu": Budget(
            minutes=35,
            settings={"images": 20_000, "epochs": 5, "options": {"conv_width": 0.125}},
            measures={"drawn": {"images": 20_000, "width": 0.5, "per_class": 400}},
            cuts=("an eighth of the channels and types of primary capsules; 20,000 images; a GAN of half the width",),
        ),
        "paper": Budget(minutes=3000, seeds=5),
    },
    tables=(grid(ROWS, [Column(f"epoch {epoch}", f"error/{epoch}") for epoch in EPOCHS], "Error, %"),),
    claims={
        "epoch1": greater("fc", "baseline", "error/1"),
        "epoch2": every(greater("baseline", "fc", "error/2"), greater("baseline", "conv", "error/2")),
        "epoch3": greater("baseline", "fc", "error/3"),
        "later": every(
            *(alike(row, "baseline", f"error/{epoch}", margin=0.01) for row in ("fc", "conv") for epoch in (4, 5))
        ),
    },
)
