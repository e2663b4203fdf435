"""The sentences of gu2021 about overlapping digits, and about all three tests at once.

    torchcaps bench run gu2021/overlapping_sentences --scale trained

Cost at `trained`: hours of one core. Networks learn pairs in one cycle of the learning rate; every curve must be flat:
twice as many pairs gain less than 0.3 points of validation accuracy on two pilot seeds. What they do on affine digits
and how compact they are comes from the trainings of `sentences`. Expected: ConvNet-FC(LK) ahead on pairs.
"""

from collections.abc import Mapping

from torchcaps.bench.artefact import Artefact, Budget
from torchcaps.bench.claims import Claim, every, gated, greater, some
from torchcaps.bench.gates import is_flat
from torchcaps.bench.papers.gu2021 import sentences
from torchcaps.bench.papers.gu2021._learned import PAIRS_ROWS, PILOTS, POINT
from torchcaps.bench.papers.gu2021.sentences import compacter, robust
from torchcaps.bench.table import Column, grid


def apart(more: str, less: str) -> Claim:
    """More of the pairs right, both curves flat."""
    a, b = f"pairs_{more}", f"pairs_{less}"
    flat = [is_flat(f"{row}_pilot", f"{row}_doubled") for row in (a, b)]
    return gated(greater(a, b, "pairs", smallest=POINT), *flat)


CLAIMS: Mapping[str, Claim] = {
    "convnet_pairs": apart("convnet_fc_lk", "capsnet"),
    "no_single_convnet": every(
        some(robust("capsnet", "convnet_avg"), apart("capsnet", "convnet_avg")),
        some(robust("capsnet", "convnet_fc_lk"), apart("capsnet", "convnet_fc_lk")),
        some(
            robust("capsnet", "convnet_cr_sf"),
            apart("capsnet", "convnet_cr_sf"),
            compacter("capsnet", "convnet_cr_sf"),
        ),
    ),
}

ARTEFACT = Artefact(
    id="gu2021/overlapping_sentences",
    title="What gu2021 says of overlapping digits, and of all three tests",
    kind="text",
    rows=(*PAIRS_ROWS, *PILOTS, *sentences.ARTEFACT.rows),
    settings=sentences.ARTEFACT.settings,
    budgets={
        "smoke": Budget(
            minutes=0.5,
            seeds=1,
            settings=sentences.ARTEFACT.budgets["smoke"].settings,
            rows=sentences.ARTEFACT.budgets["smoke"].rows,
            measures=sentences.ARTEFACT.budgets["smoke"].measures,
            cut=frozenset(row.id for row in PILOTS),
            cuts=("convolutions 1/20, 2 steps, 50 test images, one seed, no pilots",),
        ),
        "trained": Budget(
            minutes=1500,
            seeds=5,
            settings=sentences.ARTEFACT.budgets["trained"].settings,
            rows={
                **{row.id: {"steps": 10_000} for row in (*PAIRS_ROWS, *PILOTS)},
                **{row.id: {"steps": 20_000} for row in PILOTS if row.id.endswith("_doubled")},
            },
            cuts=(
                "convolutions and types of primary capsules 1/8, and so parameters",
                "1,280,000 pairs, not 6,000,000",
            ),
        ),
    },
    tables=(grid(PAIRS_ROWS, [Column("pairs", "pairs"), Column("validation", "validation")], "Pairs"),),
    claims=CLAIMS,
)
