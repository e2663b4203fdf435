"""Table 3: space and time of routing by agreement (RBA) and of multi-head self-attention (MHSA).

    torchcaps bench run mitterreiter2023/table3 --scale cpu

Cost at `cpu`: six minutes of one core, alone on the machine. Layers from n vectors of d to as many; the table's "space"
is the number of parameters. Expected: counted, the table is right; measured, the times of small layers grow more slowly
than their multiply-adds, for what every call costs besides.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Budget, Picture, Row
from torchcaps.bench.claims import Claim, counted, every, near
from torchcaps.bench.evidence import At
from torchcaps.bench.gather import Gathered
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Cell, TableSpec
from torchcaps.measures import Result
from torchcaps.measures.complexity import ComplexityResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {"attention": "MHSA", "dense": "RBA, votes stored", "fused": "RBA, votes recomputed"}
ROWS = tuple(
    Row(name, title, measures=(MeasureSpec("growth", {"contender": name}),), alone=True)
    for name, title in TITLES.items()
)
QUANTITIES = {"parameters": "parameters", "multiply_adds": "multiply-adds", "seconds": "time", "peak_bytes": "memory"}
PRINTED: dict[str, dict[str, tuple[float | str | None, ...]]] = {
    "attention": {"parameters": (0.0, 2.0), "multiply_adds": ("n² d", "+ n d²"), "seconds": ("n² d", "+ n d²")},
    "dense": dict.fromkeys(["parameters", "multiply_adds", "seconds"], (2.0, 2.0)),
    "fused": dict.fromkeys(["parameters", "multiply_adds", "seconds"], (2.0, 2.0)),
}


def _cells(row: str) -> tuple[Cell, ...]:
    places = [(quantity, k, size) for quantity in QUANTITIES for k, size in enumerate("nd")]
    printed = PRINTED[row]
    return tuple(Cell(At(row, f"{q}/{size}"), printed.get(q, (None, None))[k], "number") for q, k, size in places)


def _draw(found: Gathered, page: "Figure") -> None:
    """Each quantity against n at the greatest d, in the first repetition."""
    made = [Result.from_json(found.details(row, "growth")[0]) for row in TITLES if found.seeds(row)]
    results = [result for result in made if isinstance(result, ComplexityResult)]
    if not results:
        return
    together = replace(results[0], contenders=tuple(c for result in results for c in result.contenders))
    for panel in range(together.panels):
        together.draw(page.add_subplot(1, together.panels, panel + 1), panel)


def _exponent(row: str, number: str, value: float) -> Claim:
    return counted(At(row, number), "==", value, tolerance=0.05 / (value or 1.0))


def _times(rows: list[str]) -> Claim:
    return every(*(near(At(row, f"excess/{size}"), 0.0, margin=0.3) for row in rows for size in "nd"))


ARTEFACT = Artefact(
    id="mitterreiter2023/table3",
    title="Space and time of routing and attention",
    kind="table",
    rows=ROWS,
    budgets={
        "smoke": Budget(
            minutes=0.1,
            seeds=2,
            measures={"growth": {"ns": [4, 8], "ds": [4, 8], "seconds": 0.005}},
            cuts=("n and d of 4 and 8, 5 ms a layer",),
        ),
        "cpu": Budget(minutes=6, seeds=5, measures={"growth": {"ns": [16, 32, 64, 128], "ds": [16, 32, 64]}}),
        "paper": Budget(minutes=30, seeds=10, measures={"growth": {"ns": [16, 32, 64, 128, 256], "ds": [16, 32, 64]}}),
    },
    tables=(
        TableSpec(
            tuple(f"{name}: exponent of {size}" for name in QUANTITIES.values() for size in "nd"),
            tuple((title, _cells(row)) for row, title in TITLES.items()),
        ),
    ),
    pictures=(
        Picture("Cost against the number of capsules", "The paper prints orders of growth only.", _draw, (16, 3.4)),
    ),
    claims={
        "parameters": every(
            *(_exponent(row, f"parameters/{size}", 2.0) for row in ("dense", "fused") for size in "nd"),
            _exponent("attention", "parameters/n", 0.0),
            _exponent("attention", "parameters/d", 2.0),
        ),
        "multiply_adds": every(
            *(_exponent(row, "multiply_adds/n", 2.0) for row in ("dense", "fused")),
            *(counted(At(row, "misfit"), "<=", 0.01) for row in TITLES),
        ),
        "times_dense": _times(["dense", "attention"]),
        "times_fused": _times(["fused", "attention"]),
    },
)
