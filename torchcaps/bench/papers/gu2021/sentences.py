"""The sentences of gu2021, each as one claim about networks that have learned.

    torchcaps bench run gu2021/sentences --scale trained

Cost at `trained`: about five hours of one core. How the networks learn is in `_learned.py`. Robustness and compactness
are compared at equal validation accuracy; on pairs every curve must be flat: twice as many gain less than 0.3 points.
ConvNet-CR-SF computes what CapsNet computes without routing, with another scale of the first maps; it counts as a
ConvNet because the paper counts it so, and every claim about "a ConvNet" says which one it means. Rows have the
paper's sizes but for convolutions and types of primary capsules, 1/8; ConvNet-FC(LK) has CapsNet's parameters as
trained, within 2 %, ConvNet-Avg 36 times fewer (2.5 at full size). Expected: the paper's order, if it is one of
networks and not of size.
"""

from collections.abc import Mapping

from torchcaps.bench.artefact import Artefact, Budget
from torchcaps.bench.claims import Claim, every, gated, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.gates import reached
from torchcaps.bench.papers.gu2021._learned import (
    AFFINE,
    COMPACT_ROWS,
    EQUAL,
    JUDGED,
    LEVEL,
    NATS,
    PLACED_ROWS,
    POINT,
    WIDTH,
)
from torchcaps.bench.table import Column, grid
from torchcaps.measures.sweep import FACTORS


def robust(more: str, less: str) -> Claim:
    """More of the affine digits right, at equal accuracy on placed ones."""
    a, b = f"placed_{more}", f"placed_{less}"
    return gated(greater(a, b, AFFINE, smallest=POINT), *reached([a, b], LEVEL, on=JUDGED))


def compacter(more: str, less: str) -> Claim:
    """More compact in the mean over six factors, at equal accuracy."""
    rows = (f"compact_{more}", f"compact_{less}")
    a, b = ([At(row, factor) for factor in FACTORS] for row in rows)
    return gated(greater(a, b, smallest=NATS), *reached(rows, EQUAL))


ROUTED, UNROUTED = ("placed_aff_capsnet_dr", "placed_capsnet"), ("placed_aff_capsnet", "placed_capsnet_nor")


def _without_routing() -> Claim:
    """In the mean over two networks."""
    without, routed = ([At(row, AFFINE) for row in rows] for rows in (UNROUTED, ROUTED))
    return gated(greater(without, routed, smallest=POINT), *reached([*UNROUTED, *ROUTED], LEVEL, on=JUDGED))


CLAIMS: Mapping[str, Claim] = {
    "routing": every(robust("aff_capsnet", "aff_capsnet_dr"), robust("capsnet_nor", "capsnet")),
    "routing_mean": _without_routing(),
    "transformation": robust("aff_capsnet", "capsnet_nor"),
    "squash_compact": compacter("convnet_cr_sf", "convnet_cr"),
    "conditional_compact": compacter("convnet_cr", "convnet_r"),
    "convnet_affine": robust("convnet_avg", "capsnet"),
    "convnet_compact": compacter("convnet_cr_sf", "capsnet"),
}

ARTEFACT = Artefact(
    id="gu2021/sentences",
    title="What gu2021 says of capsules and convolutions",
    kind="text",
    rows=(*PLACED_ROWS, *COMPACT_ROWS),
    settings={"options": WIDTH, "batch_size": 128, "validation": 0.166666},
    budgets={
        "smoke": Budget(
            minutes=0.5,
            seeds=1,
            settings={"options": {"conv_width": 0.05}, "images": 240, "steps": 2},
            rows={
                **{row.id: {"callbacks": {"trajectory": {"images": [128, 256]}}} for row in PLACED_ROWS},
                **{row.id: {"until_accuracy": None, "judge_every": None} for row in COMPACT_ROWS},
            },
            measures={"accuracy": {"count": 50}, "trajectory": {"count": 50}, "compactness": {"count": 3}},
            cuts=("convolutions 1/20, 2 steps, 50 test images, one seed",),
        ),
        "trained": Budget(
            minutes=300,
            seeds=5,
            settings={"steps": 5000},
            cuts=("convolutions and types of primary capsules 1/8, and so parameters",),
        ),
    },
    tables=(
        grid(PLACED_ROWS, [Column("affine", AFFINE), Column("at validation", JUDGED)], "Placed digits"),
        grid(COMPACT_ROWS, [Column(f.replace("_", " "), f, "number") for f in FACTORS], "Compactness"),
    ),
    claims=CLAIMS,
)
