"""Table 2: norms, active and dead capsules, layer by layer; and deeper networks.

    torchcaps bench run mitterreiter2023/table2 --scale cpu

Cost at `cpu`: 60 minutes of one core, of which the two networks of table 1 are half. Active: norm at least 0.1; dead:
mean and deviation at most 0.01 over affine digits; the paper's own thresholds are in an appendix that is not public.
Expected: norms and activity fall from layer to layer; deaths may need more training than this.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Picture, Row
from torchcaps.bench.claims import Claim, above, below, falls, rises
from torchcaps.bench.evidence import At
from torchcaps.bench.gather import Gathered
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.mitterreiter2023 import _networks as networks
from torchcaps.bench.table import Cell, TableSpec
from torchcaps.measures import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEEP = tuple(Row(f"depth_{n}", f"{n} layers, N(0, 0.2)", {"options": {"init_std": 0.2, "layers": n}}) for n in (3, 7))
ROWS = (networks.PLACED, networks.PLACED_LIBRARY, *DEEP)
COLUMNS = ("cnm", "cns", "car", "cas", "cdr", "cds")
PRINTED = {
    1: (0.95, 15.25, 1.0, 16.0, 0.0, 0.0),
    2: (0.32, 5.12, 0.70, 11.17, 0.07, 1.10),
    3: (0.18, 2.83, 0.35, 5.57, 0.56, 9.0),
    4: (0.12, 1.90, 0.22, 3.51, 0.63, 10.1),
    5: (0.15, 1.48, 0.30, 3.05, 0.0, 0.0),
}


def _table(row: Row) -> TableSpec:
    lines = tuple(
        (
            f"layer {layer}",
            tuple(Cell(At(row.id, f"{name}/{layer}"), printed[k], "number") for k, name in enumerate(COLUMNS)),
        )
        for layer, printed in PRINTED.items()
    )
    return TableSpec(COLUMNS, lines, row.title)


def _draw(found: Gathered, page: "Figure") -> None:
    """Shares by layer, and by threshold, of the first seed of each start."""
    for k, row in enumerate((networks.PLACED, networks.PLACED_LIBRARY)):
        for details in found.details(row.id, "activity")[:1]:
            result = Result.from_json(details)
            for panel in range(result.panels):
                axes = page.add_subplot(2, result.panels, k * result.panels + panel + 1)
                result.draw(axes, panel)
                axes.set_title(f"{row.title}: {axes.get_title().lower()}", fontsize=8)


def _claims(row: str, ending: str) -> dict[str, Claim]:
    layers = (1, 2, 3, 4, 5)
    claims: dict[str, Claim] = {
        "deaths": rises([At(row, f"cdr/{layer}") for layer in (2, 3, 4)]),
        "output": below(At(row, "cds/5"), 0.5),
        "norms": falls([At(row, f"cns/{layer}") for layer in layers]),
        "active": falls([At(row, f"cas/{layer}") for layer in layers]),
        "primary": above(At(row, "car/1"), 0.99),
    }
    return {name + ending: claim for name, claim in claims.items()}


ARTEFACT = Artefact(
    id="mitterreiter2023/table2",
    title="Norms, active and dead capsules by layer",
    kind="table",
    rows=ROWS,
    settings=networks.SETTINGS,
    measures=(MeasureSpec("layers", {"count": 10_000}),),
    budgets=networks.budgets(60, rows=ROWS, measure="layers"),
    tables=(
        _table(networks.PLACED),
        _table(networks.PLACED_LIBRARY),
        TableSpec(
            ("share of hidden capsules that are dead",),
            tuple((row.title, (Cell(At(row.id, "dead")),)) for row in (DEEP[0], networks.PLACED, DEEP[1])),
            "Depth",
        ),
    ),
    pictures=(Picture("By layer and by threshold", "The paper prints one set of thresholds.", _draw, (13, 6.4)),),
    claims={
        **_claims("placed", ""),
        "depth": rises(["depth_3", "placed", "depth_7"], "dead"),
        **_claims("placed_library", "_library"),
    },
)
