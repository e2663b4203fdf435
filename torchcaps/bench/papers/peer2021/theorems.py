"""Theorems 1 and 2: a capsule network without a bias cannot tell u from −u; and which routings of the library can.

    torchcaps bench run peer2021/theorems --scale cpu

Cost: seconds. Networks of three layers of capsules with random weights, in double precision: poses, activations and
class scores for primary capsules u and −u, of every routing, with a bias and without. Expected: zero where the theorems
say so; routings whose classes are read by a linear head, which has a bias of its own, can tell them apart.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import Claim, Shown, counted, every
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers._routings import ROUTINGS
from torchcaps.bench.table import Column, grid

NOTHING, SOMETHING = 1e-9, 1e-6
TITLES = {"dynamic": "RBA", "em": "EM"}
PROVED = {"dynamic": {"poses odd": 0.0, "scores even": 0.0}, "em": dict.fromkeys(
    ["poses odd", "activations even", "scores even"], 0.0)}  # fmt: skip
ROWS = tuple(
    Row(
        f"{routing}_bias" if bias else routing,
        f"{TITLES.get(routing, routing.replace('_', ' '))}, {'bias' if bias else 'no bias'}",
        printed={} if bias else PROVED.get(routing, {}),
        measures=(MeasureSpec("symmetry", {"routing": routing, "bias": bias}),),
    )
    for routing in ROUTINGS
    for bias in (False, True)
)
COLUMNS = [Column("poses odd", "poses", "number"), Column("activations even", "activations", "number"),
           Column("scores even", "scores", "number")]  # fmt: skip


def _zero(row: str, *numbers: str) -> Claim:
    return every(*(counted(At(row, number), "<=", NOTHING) for number in numbers))


ARTEFACT = Artefact(
    id="peer2021/theorems",
    title="f(−u) against f(u), for every routing",
    kind="text",
    rows=ROWS,
    budgets={
        "smoke": Budget(minutes=0.1, seeds=1, measures={"symmetry": {"count": 4}}, cuts=("4 images",)),
        "cpu": Budget(minutes=0.5, seeds=3),
        "paper": Budget(minutes=0.5, seeds=3),
    },
    tables=(grid(ROWS, COLUMNS, "Distance of f(−u) from ±f(u), as a share of f(u); the theorems say 0"),),
    claims={
        "rba": _zero("dynamic", "poses", "scores"),
        "em": _zero("em", "poses", "activations", "scores"),
        "bias": every(*(counted(At(f"{routing}_bias", "scores"), ">=", SOMETHING) for routing in ROUTINGS)),
        "others": Shown(tuple(ROUTINGS)),
    },
)
