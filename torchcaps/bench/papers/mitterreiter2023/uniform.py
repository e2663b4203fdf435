"""Section 4.3, tables 5 and 14 of the appendix: routing by agreement against uniform coupling, in accuracy.

    torchcaps bench run mitterreiter2023/uniform --scale cpu

Cost at `cpu`: 70 minutes of one core. The appendix with the paper's architectures and figures is not public: the grid
is ours, with the library's own first weights, and every network sees as many images as its twin. Expected: uniform
coupling ahead by a little, as in other papers; differences of a point stay undecided with three seeds.
"""

from torchcaps.bench.artefact import Artefact, Budget, Parts, Row
from torchcaps.bench.claims import Claim, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023.table1 import CPU_CIFAR10, SETTINGS, SMOKE
from torchcaps.bench.table import Cell, TableSpec

ARCHITECTURES: dict[int, tuple[str, Parts]] = {3: ("3 layers of 16", {"layers": 3}), 5: ("5 layers of 16", {})}
ROUTINGS: dict[str, tuple[str, Parts]] = {"rba": ("RBA", {}), "uniform": ("uniform", {"routing": "uniform"})}
TESTS = {"affine": ("placed_mnist", "affine", "affine MNIST"), "cifar10": ("cifar10", "clean", "CIFAR-10")}


def _row(test: str, layers: int, routing: str) -> Row:
    data, view, shown = TESTS[test]
    (size, options), (coupling, own) = ARCHITECTURES[layers], ROUTINGS[routing]
    return Row(
        f"{test}_{layers}_{routing}",
        f"{shown}, {size}, {coupling}",
        {"data": data, "options": {**options, **own}},
        measures=(MeasureSpec("accuracy", {"view": view, "on": "accuracy"}),),
    )


ROWS = tuple(_row(test, layers, routing) for test in TESTS for layers in ARCHITECTURES for routing in ROUTINGS)


def _places(test: str, routing: str) -> list[At]:
    return [At(f"{test}_{layers}_{routing}", "accuracy") for layers in ARCHITECTURES]


def _wins(test: str) -> Claim:
    return greater(_places(test, "uniform"), _places(test, "rba"))


def _line(test: str, layers: int) -> tuple[str, tuple[Cell, ...]]:
    title = f"{TESTS[test][2]}, {ARCHITECTURES[layers][0]}"
    return title, tuple(Cell(At(f"{test}_{layers}_{routing}", "accuracy")) for routing in ROUTINGS)


ARTEFACT = Artefact(
    id="mitterreiter2023/uniform",
    title="Routing by agreement against uniform coupling",
    kind="text",
    rows=ROWS,
    settings=SETTINGS,
    budgets={
        "smoke": Budget(
            minutes=0.3,
            seeds=1,
            settings={**SMOKE, "until_accuracy": None},
            measures={"accuracy": {"count": 20}},
            cuts=("backbone 1/10, 3 steps, 20 test images, one seed",),
        ),
        "cpu": Budget(
            minutes=70,
            settings={"options": {"conv_width": 0.25}, "steps": 800},
            rows={row.id: CPU_CIFAR10 for row in ROWS if row.id.startswith("cifar10")},
            measures={"accuracy": {"count": 5000}},
            cuts=(
                "backbone 1/4; two architectures of the paper's 121",
                "100,000 placed digits and 150,000 images of CIFAR-10 seen; 5,000 test images",
            ),
        ),
        "paper": Budget(minutes=20_000, seeds=10, settings={"epochs": 100}),
    },
    tables=(TableSpec(("RBA", "uniform"), tuple(_line(test, layers) for test in TESTS for layers in ARCHITECTURES)),),
    claims={"affine": _wins("affine"), "cifar10": _wins("cifar10")},
)
