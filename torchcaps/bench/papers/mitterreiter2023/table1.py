"""Table 1: how much routes differ from image to image, layer by layer; and the same on CIFAR-10.

    torchcaps bench run mitterreiter2023/table1 --scale cpu

Cost at `cpu`: at most 90 minutes of one core; its trainings on placed digits are those of table 2, figures 2 to 4 and
starvation. The paper gives no first weights, and they decide what its tables show: N(0, 0.2) gives its picture, the
library's own start makes parents as long as children. A second row learns from affine digits. Expected: with N(0, 0.2)
little dynamics in the middle layers; with the library's start more.
"""

from torchcaps.bench.artefact import Artefact, Budget, Parts, Row
from torchcaps.bench.claims import Claim, below, every, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Cell, TableSpec

SETTINGS: Parts = {
    "model": "mitterreiter2023/capsnet",
    "data": "placed_mnist",
    "batch_size": 128,
    "lr": 1e-3,
    "validation": 0.05,
    "callbacks": {"starvation": {"every": 100}},
}
STARTS: dict[str, tuple[str, Parts]] = {"normal": ("N(0, 0.2)", {"init_std": 0.2}), "library": ("of the library", {})}
PLACED = tuple(
    Row(start, f"Affine MNIST, first weights {title}", {"options": options})
    for start, (title, options) in STARTS.items()
)
CLEAN = (MeasureSpec("layers", {"view": "clean"}), MeasureSpec("accuracy", {"view": "clean"}))
CIFAR10 = tuple(
    Row(f"cifar10_{start}", f"CIFAR-10, first weights {title}", {"data": "cifar10", "options": options}, measures=CLEAN)
    for start, (title, options) in STARTS.items()
)
ON_AFFINE = Row(
    "affine_normal",
    "Affine MNIST, learned from affine digits, first weights N(0, 0.2)",
    {"data": "affine_mnist", "options": STARTS["normal"][1]},
)
ROWS = (*PLACED, ON_AFFINE, *CIFAR10)
NO_TARGET = (ON_AFFINE, *CIFAR10)

SMOKE: Parts = {
    "options": {"conv_width": 0.1},
    "images": 200,
    "steps": 3,
    "until_accuracy": 0.9,
    "callbacks": {"starvation": {"every": 1, "images": 16}},
}
SMOKE_CUTS = ("backbone 1/10, 3 steps, a few test images, one seed",)
CPU: Parts = {"options": {"conv_width": 0.25}, "steps": 3100, "until_accuracy": 0.96, "judge_every": 100}
CPU_CUTS = (
    "backbone 1/4; capsules, dimensions and layers are the paper's",
    "stopped at 96 % of held-out placed digits instead of 99.2 % of AffNIST; at most 400,000 digits seen",
    "3 networks instead of 10",
)
CPU_AFFINE: Parts = {"steps": 2350, "until_accuracy": None, "judge_every": None}
CPU_CIFAR10: Parts = {"steps": 1200, "until_accuracy": None, "judge_every": None}
PAPER: Parts = {"epochs": 200, "until_accuracy": 0.992, "judge_every": 100}

PRINTED = {  # layer: capsules alive, dyr, dys
    "1": (16.0, 0.30, 4.50),
    "2": (14.9, 0.25, 1.72),
    "3": (7.0, 0.30, 1.79),
    "4": (5.9, 0.38, 3.78),
    "output": (10.0, None, None),
}
COLUMNS = {
    "alive": "alive",
    "dyr": "dyr",
    "dys": "dys",
    "dyr_all": "dyr, dead ones counted",
    "dys_all": "dys, likewise",
}


def _table(row: Row) -> TableSpec:
    lines = []
    for k, (layer, printed) in enumerate(PRINTED.items(), 1):
        known = dict(zip(COLUMNS, printed, strict=False)) if row in PLACED else {}
        cells = [Cell(At(row.id, f"{on}/{k}"), known.get(on), "number") for on in COLUMNS]
        lines.append((layer, tuple(c if layer != "output" or c.at.on.startswith("alive") else None for c in cells)))
    return TableSpec(tuple(COLUMNS.values()), tuple(lines), row.title)


def _static(row: str) -> Claim:
    inner, outer = [At(row, "dys/2"), At(row, "dys/3")], [At(row, "dys/1"), At(row, "dys/4")]
    return every(*(below(at, 2.0) for at in inner), *(greater(more, less) for less in inner for more in outer))


def _lower(placed: str, cifar10: str) -> Claim:
    return greater(*([At(row, f"dyr/{k}") for k in (1, 2, 3, 4)] for row in (placed, cifar10)))


ARTEFACT = Artefact(
    id="mitterreiter2023/table1",
    title="Routing dynamics layer by layer",
    kind="table",
    rows=ROWS,
    settings=SETTINGS,
    measures=(MeasureSpec("layers", {"view": "affine"}), MeasureSpec("accuracy", {"view": "affine"})),
    budgets={
        "smoke": Budget(
            minutes=0.3,
            seeds=1,
            settings=SMOKE,
            measures={"layers": {"count": 20}, "accuracy": {"count": 20}},
            cuts=SMOKE_CUTS,
        ),
        "cpu": Budget(
            minutes=90,
            settings=CPU,
            rows={ON_AFFINE.id: CPU_AFFINE, **{row.id: CPU_CIFAR10 for row in CIFAR10}},
            measures={"layers": {"count": 2000}, "accuracy": {"count": 2000}},
            cuts=(
                *CPU_CUTS,
                "300,000 affine digits and 150,000 images of CIFAR-10 seen; statistics over 2,000 test images",
            ),
        ),
        "paper": Budget(
            minutes=30_000,
            seeds=10,
            settings=PAPER,
            rows={row.id: {"until_accuracy": None, "judge_every": None} for row in NO_TARGET},
        ),
    },
    tables=tuple(map(_table, ROWS)),
    claims={
        "static": _static("normal"),
        "cifar10": _lower("normal", "cifar10_normal"),
        "static_library": _static("library"),
        "cifar10_library": _lower("library", "cifar10_library"),
    },
)
