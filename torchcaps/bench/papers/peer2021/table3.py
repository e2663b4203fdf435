"""Table 3 and figure 2: EM routing with 5 to 9 layers of capsules, with and without a bias, and when learning starts.

    torchcaps bench run peer2021/table3 --scale cpu

Cost at `cpu`: 88 minutes of one core. Rows called "as released" have the settings of the authors' code, where the paper
is silent: images standardised one by one, both convolutions Glorot, an unmasked decoder, β from N(0, 0.1); that their
EM takes log σ² for log σ is left out. Expected: with a bias learning starts at once; without one late, and the later
the deeper, so that at this scale even networks that the paper trains may not have started.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Budget, Picture, Row
from torchcaps.bench.claims import Claim, at_chance, every, flat, greater, rises, trains
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.peer2021.table2 import DATA, RELEASED, RELEASED_OPTIONS, name
from torchcaps.bench.table import Cell, TableSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from torchcaps.bench.gather import Gathered

DEPTHS = (5, 6, 7, 8, 9)
PRINTED = {
    ("mnist", False): (98.5, 98.3, 96.3, 10.11, 9.9),
    ("mnist", True): (99.0, 98.9, 98.7, 98.3, 98.7),
    ("fashion", False): (82.3, 84.0, 74.8, 10.7, 9.8),
    ("fashion", True): (82.3, 84.0, 84.7, 83.5, 83.9),
}
OWN_EM = {**RELEASED_OPTIONS, "routing_options": {"beta_std": 0.1, "unit_eps": 1e-8}}
AT_CPU = {("mnist", n) for n in (5, 6, 7, 8)} | {("fashion", 6), ("fashion", 8)}
RELEASED_AT_CPU = {("mnist", 6), ("mnist", 8)}


def _row(data: str, depth: int, *, bias: bool, released: bool) -> Row:
    options = {"depth": depth, "bias": bias, **(OWN_EM if released else {})}
    settings = {"data": DATA[data][0], "options": options, **(RELEASED if released else {})}
    title = f"{DATA[data][1]}, {depth} layers, {'bias' if bias else 'no bias'}{', as released' if released else ''}"
    return Row(name(data, depth, bias=bias, released=released), title, settings)


PLACES = [(data, n, bias, released) for released in (False, True) for data, bias in PRINTED for n in DEPTHS]
ROWS = tuple(_row(data, n, bias=bias, released=released) for data, n, bias, released in PLACES)
CUT = frozenset(
    name(data, n, bias=bias, released=released)
    for data, n, bias, released in PLACES
    if (data, n) not in (RELEASED_AT_CPU if released else AT_CPU)
)


def _table(title: str, on: str, *, released: bool) -> TableSpec:
    lines = []
    for (data, bias), printed in PRINTED.items():
        places = [At(name(data, n, bias=bias, released=released), on) for n in DEPTHS]
        told = printed if on == "accuracy" else (None,) * len(DEPTHS)
        cells = tuple(Cell(at, figure) for at, figure in zip(places, told, strict=True))
        lines.append((f"{DATA[data][1]}, {'bias' if bias else 'no bias'}", cells))
    return TableSpec(tuple(f"{n} layers" for n in DEPTHS), tuple(lines), title)


def _claims(suffix: str = "", *, released: bool) -> dict[str, Claim]:
    def row(data: str, depth: int, *, bias: bool) -> str:
        return name(data, depth, bias=bias, released=released)

    def stuck(data: str, depth: int) -> Claim:
        started = [row(data, depth, bias=True), row(data, 6, bias=False)]
        return at_chance(row(data, depth, bias=False), started=started)

    return {
        f"shallow{suffix}": every(*(trains(row(data, n, bias=False)) for data in DATA for n in (5, 6))),
        f"deep{suffix}": every(*(stuck(data, n) for data in DATA for n in (8, 9))),
        f"bias{suffix}": every(*(trains(row(data, n, bias=True)) for data in DATA for n in DEPTHS)),
    }


MNIST, MNIST_BIAS = ([name("mnist", n, bias=bias) for n in DEPTHS] for bias in (False, True))


def _draw(found: "Gathered", page: "Figure") -> None:
    """Running training accuracy of the first seed on MNIST, a panel for each depth."""
    from torchcaps.measures._axes import COLOURS

    depths = [n for n in DEPTHS if found.details(name("mnist", n, bias=True), "curve")]
    panels = page.subplots(1, max(1, len(depths)), sharey=True, squeeze=False)[0]
    for axes, depth in zip(panels, depths, strict=False):
        for bias, style in ((True, "-"), (False, "--")):
            curves = found.details(name("mnist", depth, bias=bias), "curve")
            if curves:
                steps, values = zip(*curves[0], strict=True)
                label = "bias" if bias else "no bias"
                axes.plot(steps, values, linestyle=style, color=COLOURS[not bias], label=label)
        axes.set(title=f"{depth} layers", xlabel="step", ylim=(0, 1))
    panels[0].set_ylabel("training accuracy")
    panels[0].legend()


ARTEFACT = Artefact(
    id="peer2021/table3",
    title="EM routing by depth, with and without a bias",
    kind="table",
    rows=ROWS,
    settings={"model": "peer2021/em", "batch_size": 256, "lr": 1e-4, "epochs": 50, "validation": 0.0},
    measures=(MeasureSpec("accuracy", {"on": "accuracy"}), MeasureSpec("onset")),
    budgets={
        "smoke": Budget(
            minutes=0.4,
            seeds=1,
            settings={"options": {"conv_width": 0.03}, "images": 64, "batch_size": 32, "steps": 2},
            measures={"accuracy": {"count": 30}},
            cut=CUT,
            cuts=("convolutions 1/33, 2 steps, 30 test images, one seed; the rows of `cpu`",),
        ),
        "cpu": Budget(
            minutes=88,
            settings={"options": {"conv_width": 0.0625}, "batch_size": 64, "steps": 3000},
            rows={row.id: {"steps": 2500} for row in ROWS if row.id.endswith("released")},
            measures={"accuracy": {"count": 2000}},
            cut=CUT,
            cuts=(
                "MNIST with 5 to 8 layers, Fashion-MNIST with 6 and 8; as released MNIST with 6 and 8",
                "convolutions and types of primary capsules 1/16",
                "3,000 steps of 64 images instead of 11,700 of 256, as released 2,500; 2,000 test images",
            ),
        ),
        "paper": Budget(minutes=60_000, seeds=5, megabytes=6000),
    },
    tables=(
        _table("The paper's formulas", "accuracy", released=False),
        _table("As released", "accuracy", released=True),
        _table("When learning starts, in % of the steps", "onset", released=False),
    ),
    pictures=(
        Picture(
            "Training curves on MNIST",
            "In the paper networks with a bias learn from the first step at every depth; without one learning starts "
            "after a thousand steps or more, later with depth, and with 8 and 9 layers never.",
            _draw,
            (15, 3),
        ),
    ),
    claims={
        **_claims(released=False),
        "seven": every(*(greater(name(data, 6, bias=False), name(data, 7, bias=False), "accuracy") for data in DATA)),
        "later": every(rises(MNIST, "onset"), flat(MNIST_BIAS, "onset", margin=0.02)),
        "earlier": every(*(greater(a, b, "onset") for a, b in zip(MNIST, MNIST_BIAS, strict=True))),
        **_claims("_released", released=True),
    },
)
