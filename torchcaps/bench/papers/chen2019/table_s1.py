"""Table 1 of the supplement: the layers of the multi-layer G-CapsNet and their parameters.

    torchcaps bench run chen2019/table_s1 --scale cpu

Cost: a second at any scale; nothing is trained. Expected: every row as printed, which rounds to hundreds.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import counted, every
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Cell, TableSpec

# as the paper calls them; the number's name; printed in thousands; to the last parameter
LAYERS = (
    ("Conv#1", "convolution 1", 9.4, 9_408),
    ("Conv#2", "convolution 2", 401.4, 401_408),
    ("Conv Caps Trans#1", "transform 1", 131.1, 131_072),
    ("Conv Caps Routing#1", "routing 1", 56.4, 56_448),
    ("Conv Caps Trans#2", "transform 2", 4.6, 4_608),
    ("Conv Caps Routing#2", "routing 2", 10.4, 10_368),
    ("FC Caps Trans#1", "transform 3", 92.2, 92_160),
    ("FC Caps Routing#1", "routing 3", 11.5, 11_520),
    ("Total", "total", 716, 716_992),
)
ONE_SECOND = Budget(minutes=0.1, seeds=1)

ARTEFACT = Artefact(
    id="chen2019/table_s1",
    title="The layers of the multi-layer G-CapsNet",
    kind="table",
    rows=(Row("multi_gcaps", "Multi-layer G-CapsNet"),),
    measures=(MeasureSpec("layer_sizes", {"model": "chen2019/multi_gcaps"}),),
    budgets={"smoke": ONE_SECOND, "cpu": ONE_SECOND, "paper": ONE_SECOND},
    tables=(
        TableSpec(
            ("parameters",),
            tuple((title, (Cell(At("multi_gcaps", on), f"{k:g}K", "count"),)) for title, on, k, _ in LAYERS),
        ),
    ),
    claims={"layers": every(*(counted(At("multi_gcaps", on), "==", n) for _, on, _, n in LAYERS))},
)
