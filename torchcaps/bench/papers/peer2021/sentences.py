"""The sentences of peer2021, each as one claim.

    torchcaps bench run peer2021/sentences --scale trained

The theorem is counted on networks with random weights. Its experiment is the sign of a number, at the paper's own
setting. That a bias helps training is judged on digits at depths 3, 6 and 9, after equally many images for all, at
which networks with a bias have learned: twice as many images gain less than 0.3 points.

Cost at `trained`: about six hours of one core. Expected: chance without a bias at depth 9, and no difference at 3.
"""

from collections.abc import Sequence
from typing import Any

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import Claim, above, at_chance, counted, every, gated, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.gates import is_flat, is_trained
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid

ROUTINGS = {"rba": ("dynamic", "RBA"), "em": ("em", "EM")}
DEPTHS = (3, 6, 9)
NOTHING = 1e-9
"""Distances below this, as a share of the numbers compared, are rounding in double precision."""
LEARNED, POINT = 0.9, 0.01
"""Validation accuracy from which a network with a bias counts as trained, and the smallest difference of interest."""
PILOT_SEEDS = (1000, 1001)
COURSE = (MeasureSpec("course"),)
DIGITS = (MeasureSpec("accuracy", {"on": "accuracy", "count": 10_000}), *COURSE, MeasureSpec("onset"))


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


def _deep(key: str, depth: int, *, bias: bool, ending: str = "") -> Row:
    settings: dict[str, Any] = {
        "model": f"peer2021/{key}",
        "options": {"depth": depth, "bias": bias, "conv_width": 0.125},
        "data": "mnist",
        "batch_size": 128,
        "lr": 1e-3,
        "average": 0.999,
        "validation": 0.166666,
    }
    title = f"{ROUTINGS[key][1]}, {_said(bias)}, {depth} layers"
    name = f"{key}_{depth}" + "_bias" * bias + ending
    if not ending:
        return Row(name, title, settings, measures=DIGITS)
    said = {"_pilot": ", pilot", "_doubled": ", pilot, twice as long"}[ending]
    return Row(name, title + said, settings, measures=COURSE, seeds=PILOT_SEEDS)


DEEP = tuple(_deep(key, depth, bias=bias) for key in ROUTINGS for depth in DEPTHS for bias in (False, True))
PILOTS = tuple(
    _deep(key, depth, bias=True, ending=ending)
    for key in ROUTINGS
    for depth in DEPTHS
    for ending in ("_pilot", "_doubled")
)
SIGNS = tuple(_sign(key, bias=bias) for key in ROUTINGS for bias in (False, True))
ROWS = (*map(_theorem, ROUTINGS), *SIGNS, *DEEP, *PILOTS)


def _controlled(claim: Claim, key: str, depths: Sequence[int]) -> Claim:
    """Judged only if the networks with a bias have learned, and would not learn more from twice as many images."""
    rows = [f"{key}_{depth}_bias" for depth in depths]
    flat = [is_flat(At(f"{row}_pilot", "validation"), At(f"{row}_doubled", "validation")) for row in rows]
    return gated(claim, *(is_trained(row, LEARNED) for row in rows), *flat)


def _helps(key: str, depths: Sequence[int]) -> Claim:
    biased, plain = ([At(f"{key}_{d}{ending}", "accuracy") for d in depths] for ending in ("_bias", ""))
    return _controlled(greater(biased, plain, smallest=POINT), key, depths)


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
            rows={
                **{
                    row.id: {"options": {"conv_width": 0.03}, "images": 120, "steps": 2, "batch_size": 32}
                    for row in (*DEEP, *PILOTS)
                },
                **{row.id: {"images": 2000, "epochs": 2} for row in SIGNS},
            },
            measures={"accuracy": {"count": 50}, "symmetry": {"count": 4}},
            cut=frozenset(row.id for row in PILOTS),
            cuts=("convolutions 1/33, 2 steps, 50 test images, one seed, no pilots",),
        ),
        "trained": Budget(
            minutes=400,
            seeds=5,
            rows={
                **{row.id: {"steps": 5000} for row in DEEP},
                **{row.id: {"steps": 10_000 if row.id.endswith("_doubled") else 5000} for row in PILOTS},
            },
            cuts=(
                "convolutions and types of primary capsules 1/8",
                "batches of 128, a rate of 1e-3 and averaged weights, not 256, 1e-4 and the last ones",
            ),
        ),
    },
    tables=(
        grid(SIGNS, [Column("sign", "sign")], "The sign of a number"),
        grid(DEEP, [Column("accuracy", "accuracy"), Column("learning starts", "onset", "number")], "Digits"),
    ),
    claims={
        "theorem": every(
            *(counted(At("rba_theorem", number), "<=", NOTHING) for number in ("poses", "scores")),
            *(counted(At("em_theorem", number), "<=", NOTHING) for number in ("poses", "activations", "scores")),
        ),
        "sign": every(*(at_chance(f"{key}_sign", "sign", answers=2, started=[f"{key}_sign_bias"]) for key in ROUTINGS)),
        "bias_mends": every(*(above(f"{key}_sign_bias", 0.99, "sign") for key in ROUTINGS)),
        "bias_helps": every(*(_helps(key, DEPTHS) for key in ROUTINGS)),
        "bias_helps_rba_3": _helps("rba", (3,)),
        "bias_helps_rba_6": _helps("rba", (6,)),
        "bias_helps_rba_9": _helps("rba", (9,)),
        "bias_helps_em_3": _helps("em", (3,)),
        "bias_helps_em_6": _helps("em", (6,)),
        "bias_helps_em_9": _helps("em", (9,)),
    },
)
