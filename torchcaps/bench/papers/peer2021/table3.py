"""Table 3 and figure 2: EM routing in networks of 5 to 9 layers, with a bias and without, and when they start to learn.

    torchcaps bench run peer2021/table3 --scale cpu

Cost at `cpu`: 90 minutes of one core. Learning starts at the first step whose running training accuracy passes 20 %.
The authors' settings (images standardised one by one, Glorot's start, an unmasked decoder, β from N(0, 0.1)) are rows
of their own. Expected: without a bias, chance from eight layers on, and later starts with depth; with one, neither.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Budget, Picture
from torchcaps.bench.claims import every, flat, greater, rises
from torchcaps.bench.gather import Gathered
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.peer2021 import _depth

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTHS = (5, 6, 7, 8, 9)
PRINTED = {
    ("mnist", False): (98.5, 98.3, 96.3, 10.11, 9.9),
    ("mnist", True): (99.0, 98.9, 98.7, 98.3, 98.7),
    ("fashion", False): (82.3, 84.0, 74.8, 10.7, 9.8),
    ("fashion", True): (82.3, 84.0, 84.7, 83.5, 83.9),
}
ROWS = _depth.rows(DEPTHS, {"routing_options": {"beta_std": 0.1, "unit_eps": 1e-8}})
KEPT = {"mnist": (5, 6, 7, 8), "fashion": (5, 8), "mnist_released": (), "fashion_released": ()}


def _is_kept(row: str) -> bool:
    data, depth, *rest = row.split("_")
    return int(depth) in KEPT[data + "_released" * ("released" in rest)]


def _draw(found: Gathered, page: "Figure") -> None:
    """Running training accuracy on MNIST, of the first seed: a panel for each depth, with a bias and without."""
    from torchcaps.measures._axes import legend

    for k, depth in enumerate(DEPTHS):
        axes = page.add_subplot(1, len(DEPTHS), k + 1)
        for bias in (False, True):
            for curve in found.details(_depth.name("mnist", depth, bias=bias), "curve")[:1]:
                steps, values = zip(*curve, strict=True)
                axes.plot(steps, values, label="bias" if bias else "no bias")
        axes.set(title=f"{depth} layers", xlabel="step", ylim=(0, 1))
        if k == 0 or not axes.lines:
            legend(axes)


def _mnist(*, bias: bool) -> list[str]:
    return [_depth.name("mnist", depth, bias=bias) for depth in DEPTHS]


ARTEFACT = Artefact(
    id="peer2021/table3",
    title="Depth of networks with EM routing",
    kind="table",
    rows=ROWS,
    settings={"model": "peer2021/em", **_depth.SETTINGS},
    measures=(MeasureSpec("accuracy", {"on": "accuracy"}), MeasureSpec("onset")),
    budgets={
        "smoke": Budget(
            minutes=0.7,
            seeds=1,
            settings={"options": {"conv_width": 0.03}, "images": 100, "steps": 2, "batch_size": 32},
            measures={"accuracy": {"count": 50}},
            cuts=("convolutions 1/33, 2 steps, 50 test images, one seed",),
        ),
        "cpu": Budget(
            minutes=90,
            settings={"options": {"conv_width": 0.0625}, "steps": 4000, "batch_size": 64},
            measures={"accuracy": {"count": 5000}},
            cut=frozenset(row.id for row in ROWS if not _is_kept(row.id)),
            cuts=(
                "MNIST with 5 to 8 layers, Fashion-MNIST with 5 and 8; no rows with the authors' settings",
                "4,000 steps of 64 images instead of 50 epochs in steps of 256",
                "convolutions and types of primary capsules 1/16; 5,000 test images",
            ),
        ),
        "paper": Budget(minutes=20_000, seeds=3, megabytes=6000),
    },
    tables=(
        _depth.table(DEPTHS, PRINTED),
        _depth.table(DEPTHS, PRINTED, released=True),
        _depth.table(DEPTHS, {}, on="onset"),
    ),
    pictures=(
        Picture(
            "Training accuracy on MNIST",
            "In the paper's figure 2 networks with a bias learn at once; without one they start later with each layer.",
            _draw,
            (15, 3.0),
        ),
    ),
    claims={
        **_depth.claims((5, 6), (8, 9), DEPTHS, released=False),
        "seven": every(
            *(
                greater(_depth.name(data, 6, bias=False), _depth.name(data, 7, bias=False), "accuracy")
                for data in _depth.DATA
            )
        ),
        "later": every(rises(_mnist(bias=False), "onset"), flat(_mnist(bias=True), "onset", margin=0.02)),
        "earlier": every(*(greater(a, b, "onset") for a, b in zip(_mnist(bias=False), _mnist(bias=True), strict=True))),
        **_depth.claims((5, 6), (8, 9), DEPTHS, released=True),
    },
)
