"""The sentences of peer2021, each as one claim.

    torchcaps bench run peer2021/sentences --scale trained

The theorem is counted on networks with random weights. Its experiment is the sign of a number, at the paper's own
setting. That a bias helps training stands in `depth_sentences`.

Cost at `trained`: minutes of one core. Expected: chance without a bias, and the sign named with one.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import above, at_chance, counted, every
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid

ROUTINGS = {"rba": ("dynamic", "RBA"), "em": ("em", "EM")}
NOTHING = 1e-9
"""Distances below this, as a share of the numbers compared, are rounding in double precision."""


def _theorem(key: str) -> Row:
    routing, title = ROUTINGS[key]
    measures = (MeasureSpec("symmetry", {"routing": routing, "bias": False}),)
    return Row(f"{key}_theorem", f"{title}, random weights, no bias", None, measures=measures)


def _sign(key: str, *, bias: bool) -> Row:
    routing, title = ROUTINGS[key]
    settings = {
        "model": "peer2021/sign",
        "data": "sign",
        "options": {"routing": routing, "bias": bias},
        "batch_size": 256,
        "lr": 5e-3,
        "epochs": 50,
        "validation": 0.0,
        "loss": {"name": "margin", "down_weight": 1.0},
    }
    measures = (MeasureSpec("accuracy", {"split": "train", "on": "sign"}), MeasureSpec("onset", {"classes": 2}))
    return Row(f"{key}_sign" + "_bias" * bias, f"{title}, {_said(bias)}, sign", settings, measures=measures)


def _said(bias: bool) -> str:  # noqa: FBT001
    return "bias" if bias else "no bias"


SIGNS = tuple(_sign(key, bias=bias) for key in ROUTINGS for bias in (False, True))
ROWS = (*map(_theorem, ROUTINGS), *SIGNS)


ARTEFACT = Artefact(
    id="peer2021/sentences",
    title="What peer2021 says of networks without a bias",
    kind="text",
    rows=ROWS,
    settings={},
    budgets={
        "smoke": Budget(
            minutes=0.5,
            seeds=1,
            rows={row.id: {"images": 2000, "epochs": 2} for row in SIGNS},
            measures={"accuracy": {"count": 50}, "symmetry": {"count": 4}},
            cuts=("2,000 numbers, 2 epochs, 50 judged, one seed",),
        ),
        "trained": Budget(minutes=10, seeds=5),
    },
    tables=(grid(SIGNS, [Column("sign", "sign")], "The sign of a number"),),
    claims={
        "theorem": every(
            *(counted(At("rba_theorem", number), "<=", NOTHING) for number in ("poses", "scores")),
            *(counted(At("em_theorem", number), "<=", NOTHING) for number in ("poses", "activations", "scores")),
        ),
        "sign": every(*(at_chance(f"{key}_sign", "sign", answers=2, started=[f"{key}_sign_bias"]) for key in ROUTINGS)),
        "bias_mends": every(*(above(f"{key}_sign_bias", 0.99, "sign") for key in ROUTINGS)),
    },
)
