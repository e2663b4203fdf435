"""Table 2: norms, activity and deaths of capsules, layer by layer; and deaths in networks of other depths.

    torchcaps bench run mitterreiter2023/table2 --scale cpu

Cost at `cpu`: at most 60 minutes of one core beside the trainings of table 1, which it shares. All learn from placed
digits up to the same accuracy; statistics are over affine ones. Expected: norms and activity fall with the layer;
deaths need long trainings, and may be few at this scale.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import Claim, above, below, falls, rises
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023.table1 import (
    CPU,
    CPU_CUTS,
    PAPER,
    PLACED,
    SETTINGS,
    SMOKE,
    SMOKE_CUTS,
    STARTS,
)
from torchcaps.bench.table import Cell, Column, TableSpec, grid

COLUMNS = ("cnm", "cns", "car", "cas", "cdr", "cds")
PRINTED = {
    1: (0.95, 15.25, 1.00, 16.00, 0.00, 0.00),
    2: (0.32, 5.12, 0.70, 11.17, 0.07, 1.10),
    3: (0.18, 2.83, 0.35, 5.57, 0.56, 9.00),
    4: (0.12, 1.90, 0.22, 3.51, 0.63, 10.10),
    5: (0.15, 1.48, 0.30, 3.05, 0.00, 0.00),
}
DEPTHS = {
    depth: Row(f"layers_{depth}", f"{depth} layers", {"options": {**STARTS["normal"][1], "layers": depth}})
    for depth in (3, 4, 6, 7)
}
BY_DEPTH = (DEPTHS[3], DEPTHS[4], PLACED[0], DEPTHS[6], DEPTHS[7])
ROWS = (*PLACED, *DEPTHS.values())


def _table(row: Row) -> TableSpec:
    lines = (
        (str(k), tuple(Cell(At(row.id, f"{on}/{k}"), p, "number") for on, p in zip(COLUMNS, printed, strict=True)))
        for k, printed in PRINTED.items()
    )
    return TableSpec(COLUMNS, tuple(lines), row.title)


def _layer_by_layer(row: str, suffix: str = "") -> dict[str, Claim]:
    every_layer = tuple(PRINTED)
    return {
        f"deaths{suffix}": rises([At(row, f"cdr/{k}") for k in (2, 3, 4)]),
        f"output{suffix}": below(row, 0.5, "cds/5"),
        f"norms{suffix}": falls([At(row, f"cns/{k}") for k in every_layer]),
        f"active{suffix}": falls([At(row, f"cas/{k}") for k in every_layer]),
        f"primary{suffix}": above(row, 0.99, "car/1"),
    }


ARTEFACT = Artefact(
    id="mitterreiter2023/table2",
    title="Activity and deaths of capsules layer by layer",
    kind="table",
    rows=ROWS,
    settings=SETTINGS,
    measures=(MeasureSpec("layers", {"view": "affine"}),),
    budgets={
        "smoke": Budget(
            minutes=0.3,
            seeds=1,
            settings=SMOKE,
            measures={"layers": {"count": 20}},
            cut=frozenset({"layers_4", "layers_6"}),
            cuts=(*SMOKE_CUTS, "3, 5 and 7 layers"),
        ),
        "cpu": Budget(
            minutes=85,
            settings=CPU,
            measures={"layers": {"count": 2000}},
            cut=frozenset({"layers_4", "layers_7"}),
            cuts=(*CPU_CUTS, "3, 5 and 6 layers; statistics over 2,000 test images"),
        ),
        "paper": Budget(minutes=30_000, seeds=10, settings=PAPER),
    },
    tables=(
        *map(_table, PLACED),
        grid(BY_DEPTH, [Column("share of hidden capsules dead", "dead")], "Deaths by depth, first weights N(0, 0.2)"),
    ),
    claims={
        **_layer_by_layer("normal"),
        "depth": rises([row.id for row in BY_DEPTH], "dead"),
        **_layer_by_layer("library", "_library"),
    },
)
