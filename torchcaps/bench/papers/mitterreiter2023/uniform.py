"""Section 4.3: routing by agreement against uniform coupling, over a grid of architectures.

    torchcaps bench run mitterreiter2023/uniform --scale cpu

Cost at `cpu`: 85 minutes of one core. Accuracy on affine digits after training on placed ones, and on CIFAR-10, after
equally many steps. The paper's own figures are in an appendix that is not public. Expected: uniform coupling ahead, in
the mean over the grid.
"""

from torchcaps.bench.artefact import Artefact, Row
from torchcaps.bench.claims import Claim, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023 import _networks as networks
from torchcaps.bench.table import Cell, TableSpec

GRID: dict[str, dict[str, object]] = {
    "5 layers": {},
    "3 layers": {"layers": 3},
    "7 layers": {"layers": 7},
    "32 capsules": {"capsules": 32},
    "8 capsules": {"capsules": 8},
    "dimension 16": {"dim": 16},
}
ROUTINGS: dict[str, dict[str, object]] = {"RBA": {}, "uniform": {"routing": "uniform"}}
DATA: dict[str, dict[str, object]] = {"affine MNIST": {}, "CIFAR-10": {"data": "cifar10"}}
ON = {"affine MNIST": "affine", "CIFAR-10": "clean"}


def _id(data: str, size: str, routing: str) -> str:
    return f"{data}, {size}, {routing}"


ROWS = tuple(
    Row(
        _id(data, size, routing),
        _id(data, size, routing),
        {"options": {"init_std": 0.2, **options, **how}, **on},
        measures=(MeasureSpec("accuracy", {"view": ON[data], "count": 10_000}),),
    )
    for data, on in DATA.items()
    for size, options in GRID.items()
    for routing, how in ROUTINGS.items()
)
KEPT = ("5 layers", "3 layers")


def _lines(data: str) -> TableSpec:
    lines = tuple((size, tuple(Cell(At(_id(data, size, r), ON[data])) for r in ROUTINGS)) for size in GRID)
    return TableSpec(tuple(ROUTINGS), lines, data)


def _ahead(data: str) -> Claim:
    uniform, rba = ([At(_id(data, size, r), ON[data]) for size in GRID] for r in ("uniform", "RBA"))
    return greater(uniform, rba)


ARTEFACT = Artefact(
    id="mitterreiter2023/uniform",
    title="Routing by agreement against uniform coupling",
    kind="text",
    rows=ROWS,
    settings=networks.SETTINGS,
    budgets=networks.budgets(
        85,
        rows=ROWS,
        measure="accuracy",
        count=5000,
        seen={"": 1560, "cifar10": 780},
        cut=frozenset(row.id for row in ROWS if row.id.split(", ")[1] not in KEPT),
        cuts=(
            networks.NARROW,
            "200,000 placed digits or 100,000 images of CIFAR-10 seen",
            "5,000 test images",
            networks.SEEDS,
            "networks of 3 and 5 layers of the grid; the paper has 121 architectures",
        ),
    ),
    tables=tuple(map(_lines, DATA)),
    claims={"affine": _ahead("affine MNIST"), "cifar10": _ahead("CIFAR-10")},
)
