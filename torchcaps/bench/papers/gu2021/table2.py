"""Table 2: the five components of Aff-CapsNet, one changed at a time, trained without early stopping.

    torchcaps bench run gu2021/table2 --scale cpu

Cost at `cpu`: 90 minutes of one core. Trained on placed digits, tested on affine ones. Supplement A, on the number of
groups that share a map, is one more row: a map for each of the 32 types of primary capsules. Expected: the paper's
drops of 13 points are large enough to be seen; its differences of one point are not.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import alike, greater
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid

COLUMNS = (Column("Train-MNIST", "train"), Column("Test-MNIST", "clean"), Column("Test-AffNIST", "affine"))
CHANGES: dict[str, tuple[str, dict[str, object], tuple[float, ...]]] = {
    "base": ("Aff-CapsNet", {}, (100.0, 99.29, 93.55)),
    "routing": ("dynamic routing", {"routing": "dynamic"}, (100.0, 99.21, 90.07)),
    "transformation": ("a map for each child", {"share": "none"}, (100.0, 98.98, 80.49)),
    "groups": ("a map for each type", {"share": "position"}, ()),
    "squash": ("no squash", {"squash": False}, (99.75, 97.93, 80.42)),
    "plain": ("plain reconstruction", {"reconstruction": "plain"}, (100.0, 99.43, 95.09)),
    "none": ("no reconstruction", {"reconstruction": "none"}, (100.0, 99.39, 93.49)),
    "loss": ("cross entropy", {"loss": "ce"}, (100.0, 99.27, 94.67)),
}
ROWS = tuple(
    Row(name, title, {"options": options}, dict(zip([c.title for c in COLUMNS], printed, strict=False)))
    for name, (title, options, printed) in CHANGES.items()
)

ARTEFACT = Artefact(
    id="gu2021/table2",
    title="Which components make capsules robust to affine transformations",
    kind="table",
    rows=ROWS,
    settings={"model": "gu2021/aff_capsnet", "data": "placed_mnist", "batch_size": 128, "lr": 1e-3, "validation": 0.1},
    measures=(
        MeasureSpec("accuracy", {"on": "train", "split": "train", "count": 10_000}),
        MeasureSpec("accuracy", {"view": "clean", "count": 10_000}),
        MeasureSpec("accuracy", {"view": "affine", "count": 10_000}),
    ),
    budgets={
        "smoke": Budget(
            minutes=0.3,
            seeds=1,
            settings={"options": {"conv_width": 0.05}, "images": 400, "steps": 3},
            measures={"accuracy": {"count": 50}},
            cuts=("convolutions 1/20, 3 steps, 50 test images, one seed",),
        ),
        "cpu": Budget(
            minutes=90,
            settings={"options": {"conv_width": 0.125}, "images": 22_000, "steps": 1170},
            measures={"accuracy": {"count": 5000}},
            cuts=(
                "convolutions and types of primary capsules 1/8",
                "20,000 training digits, 150,000 seen; the paper does not say how many",
                "5,000 test digits, 3 seeds instead of 5",
            ),
        ),
        "paper": Budget(minutes=6000, seeds=5, settings={"epochs": 100}, megabytes=6000),
    },
    tables=(grid(ROWS, COLUMNS),),
    claims={
        "routing": greater("base", "routing", "affine"),
        "transformation": greater("base", "transformation", "affine"),
        "squash": greater("base", "squash", "affine"),
        "loss": greater("loss", "base", "affine"),
        "plain": greater("plain", "base", "affine"),
        "reconstruction": alike("base", "none", "affine", margin=0.02),
        "groups": alike("groups", "base", "affine", margin=0.02),
    },
)
