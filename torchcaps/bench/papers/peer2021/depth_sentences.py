"""The sentence of peer2021 that a bias helps training, at three depths and with two routings.

    torchcaps bench run peer2021/depth_sentences --scale trained

Digits, depths 3, 6 and 9, equally many images for all: as many as make the curves of networks with a bias flat, so that
twice as many gain less than 0.3 points of validation accuracy on two pilot seeds.

Cost at `trained`: about six hours of one core. Expected: chance without a bias at depth 9, and no difference at 3.
"""

from collections.abc import Sequence
from typing import Any

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import Claim, every, gated, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.gates import is_flat, is_trained
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid

TITLES = {"rba": "RBA", "em": "EM"}
DEPTHS = (3, 6, 9)
LEARNED, POINT = 0.9, 0.01
"""Validation accuracy from which a network with a bias counts as trained, and the smallest difference of interest."""
PILOT_SEEDS = (1000, 1001)
COURSE = (MeasureSpec("course"),)
DIGITS = (MeasureSpec("accuracy", {"on": "accuracy", "count": 10_000}), *COURSE, MeasureSpec("onset"))


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
    title = f"{TITLES[key]}, {'bias' if bias else 'no bias'}, {depth} layers"
    name = f"{key}_{depth}" + "_bias" * bias + ending
    if not ending:
        return Row(name, title, settings, measures=DIGITS)
    said = {"_pilot": ", pilot", "_doubled": ", pilot, twice as long"}[ending]
    return Row(name, title + said, settings, measures=COURSE, seeds=PILOT_SEEDS)


DEEP = tuple(_deep(key, depth, bias=bias) for key in TITLES for depth in DEPTHS for bias in (False, True))
PILOTS = tuple(
    _deep(key, depth, bias=True, ending=ending)
    for key in TITLES
    for depth in DEPTHS
    for ending in ("_pilot", "_doubled")
)


def _controlled(claim: Claim, key: str, depths: Sequence[int]) -> Claim:
    """Judged only if the networks with a bias have learned, and would not learn more from twice as many images."""
    rows = [f"{key}_{depth}_bias" for depth in depths]
    flat = [is_flat(At(f"{row}_pilot", "validation"), At(f"{row}_doubled", "validation")) for row in rows]
    return gated(claim, *(is_trained(row, LEARNED) for row in rows), *flat)


def _helps(key: str, depths: Sequence[int]) -> Claim:
    biased, plain = ([At(f"{key}_{d}{ending}", "accuracy") for d in depths] for ending in ("_bias", ""))
    return _controlled(greater(biased, plain, smallest=POINT), key, depths)


ARTEFACT = Artefact(
    id="peer2021/depth_sentences",
    title="What peer2021 says of depth and a bias",
    kind="text",
    rows=(*DEEP, *PILOTS),
    settings={},
    budgets={
        "smoke": Budget(
            minutes=0.5,
            seeds=1,
            settings={"options": {"conv_width": 0.03}, "images": 120, "steps": 2, "batch_size": 32},
            measures={"accuracy": {"count": 50}},
            cut=frozenset(row.id for row in PILOTS),
            cuts=("convolutions 1/33, 2 steps, 50 test images, one seed, no pilots",),
        ),
        "trained": Budget(
            minutes=400,
            seeds=5,
            settings={"steps": 5000},
            rows={row.id: {"steps": 10_000} for row in PILOTS if row.id.endswith("_doubled")},
            cuts=(
                "convolutions and types of primary capsules 1/8",
                "batches of 128, a rate of 1e-3 and averaged weights, not 256, 1e-4 and the last ones",
            ),
        ),
    },
    tables=(grid(DEEP, [Column("accuracy", "accuracy"), Column("learning starts", "onset", "number")], "Digits"),),
    claims={
        "bias_helps": every(*(_helps(key, DEPTHS) for key in TITLES)),
        "bias_helps_rba_3": _helps("rba", (3,)),
        "bias_helps_rba_6": _helps("rba", (6,)),
        "bias_helps_rba_9": _helps("rba", (9,)),
        "bias_helps_em_3": _helps("em", (3,)),
        "bias_helps_em_6": _helps("em", (6,)),
        "bias_helps_em_9": _helps("em", (9,)),
    },
)
