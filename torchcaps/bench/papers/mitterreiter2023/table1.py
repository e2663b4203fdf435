"""Table 1: living capsules and routing dynamics, layer by layer.

    torchcaps bench run mitterreiter2023/table1 --scale cpu

Cost at `cpu`: 90 minutes of one core, in trainings that tables 2, figures 2 to 4 and starvation share. dyr is the share
of a perfect routing's dynamics, dys the expected number of targets, over living capsules as the paper's figures are;
"all" is its printed formula. Expected: with weights from N(0, 0.2) the paper's picture, nearly static routes in the
middle; whether with the library's start too is a question of our own.
"""

from torchcaps.bench.artefact import Artefact, Row
from torchcaps.bench.claims import Claim, below, every, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023 import _networks as networks
from torchcaps.bench.table import Cell, TableSpec

ROWS = (
    networks.PLACED,
    networks.PLACED_LIBRARY,
    networks.TRAINED_AFFINE,
    networks.CIFAR,
    networks.CIFAR_LIBRARY,
)
PRINTED = {1: (16.0, 0.30, 4.50), 2: (14.9, 0.25, 1.72), 3: (7.0, 0.30, 1.79), 4: (5.9, 0.38, 3.78)}
COLUMNS = {"alive": "alive", "dyr": "dyr", "dys": "dys", "dyr_all": "dyr, all", "dys_all": "dys, all"}


def _table(row: Row) -> TableSpec:
    paper = row.id.startswith("placed")

    def cell(layer: int, k: int, name: str) -> Cell:
        return Cell(At(row.id, f"{name}/{layer}"), PRINTED[layer][k] if paper and k < 3 else None, "number")

    lines = tuple((f"layer {n}", tuple(cell(n, k, name) for k, name in enumerate(COLUMNS))) for n in PRINTED)
    output = Cell(At(row.id, "alive/5"), 10.0 if paper else None, "number"), *[None] * (len(COLUMNS) - 1)
    return TableSpec(tuple(COLUMNS.values()), (*lines, ("output", output)), row.title)


def _static(row: str) -> Claim:
    inner, outer = (2, 3), (1, 4)
    return every(
        *(below(At(row, f"dys/{layer}"), 2.0) for layer in inner),
        *(greater(At(row, f"dys/{far}"), At(row, f"dys/{near}")) for far in outer for near in inner),
    )


def _lower_on_cifar(placed: str, cifar: str) -> Claim:
    here, there = ([At(row, f"dyr/{layer}") for layer in PRINTED] for row in (placed, cifar))
    return greater(here, there)


ARTEFACT = Artefact(
    id="mitterreiter2023/table1",
    title="Living capsules and routing dynamics by layer",
    kind="table",
    rows=ROWS,
    settings=networks.SETTINGS,
    measures=(
        MeasureSpec("layers", {"count": 10_000}),
        MeasureSpec("accuracy", {"view": "clean", "count": 10_000}),
    ),
    budgets=networks.budgets(90, rows=ROWS, measure="layers"),
    tables=(
        *map(_table, ROWS),
        TableSpec(("test accuracy",), tuple((row.title, (Cell(At(row.id, "clean")),)) for row in ROWS), "Accuracy"),
    ),
    claims={
        "static": _static("placed"),
        "cifar10": _lower_on_cifar("placed", "cifar"),
        "static_library": _static("placed_library"),
        "cifar10_library": _lower_on_cifar("placed_library", "cifar_library"),
    },
)
