"""Table 2: routing by agreement with 2 to 5 layers of capsules, with and without a bias.

    torchcaps bench run peer2021/table2 --scale cpu

Cost at `cpu`: 85 minutes of one core. The question is whether a network starts to learn. Rows called "as released" have
the settings of the authors' code, where the paper is silent: images standardised one by one, both convolutions Glorot,
an unmasked decoder. Expected: without a bias, deep networks start from outputs near zero and stay at chance, though the
steps of this scale are few; with one, all learn.
"""

from torchcaps.bench.artefact import Artefact, Budget, Parts, Row
from torchcaps.bench.claims import Claim, at_chance, every, trains
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Cell, TableSpec

DEPTHS = (2, 3, 4, 5)
DATA = {"mnist": ("mnist", "MNIST"), "fashion": ("fashion_mnist", "Fashion-MNIST")}
PRINTED = {
    ("mnist", False): (99.0, 99.2, 15.8, 9.6),
    ("mnist", True): (98.9, 99.2, 99.0, 98.7),
    ("fashion", False): (86.3, 86.2, 12.1, 10.0),
    ("fashion", True): (85.8, 86.0, 84.2, 81.2),
}
RELEASED: Parts = {"standardise": True, "reconstruction_weight": 5e-4}
RELEASED_OPTIONS: Parts = {"start": "glorot", "reconstruction": "plain"}


def name(data: str, depth: int, *, bias: bool, released: bool = False) -> str:
    """The id of a row."""
    return f"{data}_{depth}{'_bias' if bias else ''}{'_released' if released else ''}"


def _row(data: str, depth: int, *, bias: bool, released: bool) -> Row:
    options = {"depth": depth, "bias": bias, **(RELEASED_OPTIONS if released else {})}
    settings = {"data": DATA[data][0], "options": options, **(RELEASED if released else {})}
    title = f"{DATA[data][1]}, {depth} layers, {'bias' if bias else 'no bias'}{', as released' if released else ''}"
    return Row(name(data, depth, bias=bias, released=released), title, settings)


def _table(title: str, *, released: bool) -> TableSpec:
    lines = []
    for (data, bias), printed in PRINTED.items():
        cells = (
            Cell(At(name(data, n, bias=bias, released=released), "accuracy"), figure)
            for n, figure in zip(DEPTHS, printed, strict=True)
        )
        lines.append((f"{DATA[data][1]}, {'bias' if bias else 'no bias'}", tuple(cells)))
    return TableSpec(tuple(f"{n} layers" for n in DEPTHS), tuple(lines), title)


def _claims(suffix: str = "", *, released: bool) -> dict[str, Claim]:
    def row(data: str, depth: int, *, bias: bool) -> str:
        return name(data, depth, bias=bias, released=released)

    def stuck(data: str, depth: int) -> Claim:
        started = [row(data, depth, bias=True), row(data, 3, bias=False)]
        return at_chance(row(data, depth, bias=False), started=started)

    return {
        f"shallow{suffix}": every(*(trains(row(data, n, bias=False)) for data in DATA for n in (2, 3))),
        f"deep{suffix}": every(*(stuck(data, n) for data in DATA for n in (4, 5))),
        f"bias{suffix}": every(*(trains(row(data, n, bias=True)) for data in DATA for n in DEPTHS)),
    }


ROWS = tuple(
    _row(data, n, bias=bias, released=released) for released in (False, True) for data, bias in PRINTED for n in DEPTHS
)

ARTEFACT = Artefact(
    id="peer2021/table2",
    title="Routing by agreement by depth, with and without a bias",
    kind="table",
    rows=ROWS,
    settings={"model": "peer2021/rba", "batch_size": 256, "lr": 1e-4, "epochs": 50, "validation": 0.0},
    measures=(MeasureSpec("accuracy", {"on": "accuracy"}), MeasureSpec("onset")),
    budgets={
        "smoke": Budget(
            minutes=0.4,
            seeds=1,
            settings={"options": {"conv_width": 0.03}, "images": 64, "batch_size": 32, "steps": 2},
            measures={"accuracy": {"count": 30}},
            cut=frozenset(row.id for row in ROWS if row.id.split("_")[1] in ("3", "4")),
            cuts=("convolutions 1/33, 2 steps, 30 test images, one seed; 2 and 5 layers",),
        ),
        "cpu": Budget(
            minutes=85,
            settings={"options": {"conv_width": 0.125}, "batch_size": 64, "steps": 2000},
            rows={row.id: {"steps": 1000} for row in ROWS if row.id.endswith("released")},
            measures={"accuracy": {"count": 2000}},
            cuts=(
                "convolutions and types of primary capsules 1/8",
                "2,000 steps of 64 images instead of 11,700 of 256, as released 1,000; 2,000 test images",
            ),
        ),
        "paper": Budget(minutes=20_000, seeds=5, megabytes=6000),
    },
    tables=(_table("The paper's formulas", released=False), _table("As released", released=True)),
    claims={**_claims(released=False), **_claims("_released", released=True)},
)
