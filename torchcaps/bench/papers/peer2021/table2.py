"""Table 2: routing by agreement in networks of 2 to 5 layers, with a bias and without.

    torchcaps bench run peer2021/table2 --scale cpu

Cost at `cpu`: 90 minutes of one core. Without a bias a deep network's outputs vanish: those of five layers begin at
1e-18 by the formula, and at 4e-8 in the authors' code, whose squash has an epsilon; so there are rows of both kinds.
Whether such a network starts to learn is the question. Expected: chance from four layers on without a bias, never with
one.
"""

from torchcaps.bench.artefact import Artefact, Budget
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.papers.peer2021 import _depth

DEPTHS = (2, 3, 4, 5)
PRINTED = {
    ("mnist", False): (99.0, 99.2, 15.8, 9.6),
    ("mnist", True): (98.9, 99.2, 99.0, 98.7),
    ("fashion", False): (86.3, 86.2, 12.1, 10.0),
    ("fashion", True): (85.8, 86.0, 84.2, 81.2),
}
ROWS = _depth.rows(DEPTHS, {})
KEPT = ("mnist_3", "mnist_4", "mnist_5")

ARTEFACT = Artefact(
    id="peer2021/table2",
    title="Depth of networks with routing by agreement",
    kind="table",
    rows=ROWS,
    settings={"model": "peer2021/rba", **_depth.SETTINGS},
    measures=(MeasureSpec("accuracy", {"on": "accuracy"}), MeasureSpec("onset")),
    budgets={
        "smoke": Budget(
            minutes=0.5,
            seeds=1,
            settings={"options": {"conv_width": 0.03}, "images": 100, "steps": 2, "batch_size": 32},
            measures={"accuracy": {"count": 50}},
            cuts=("convolutions 1/33, 2 steps, 50 test images, one seed",),
        ),
        "cpu": Budget(
            minutes=90,
            settings={"options": {"conv_width": 0.125}, "steps": 2000, "batch_size": 64},
            measures={"accuracy": {"count": 5000}},
            cut=frozenset(row.id for row in ROWS if row.id.endswith("_released") and not row.id.startswith(KEPT)),
            cuts=(
                "2,000 steps of 64 images instead of 50 epochs in steps of 256",
                "convolutions and types of primary capsules 1/8, so that 144 capsules feed the first routing, not 1152",
                "rows with the authors' settings on MNIST with 3 to 5 layers alone; 5,000 test images",
            ),
        ),
        "paper": Budget(minutes=8000, seeds=3, megabytes=6000),
    },
    tables=(
        _depth.table(DEPTHS, PRINTED),
        _depth.table(DEPTHS, PRINTED, released=True),
        _depth.table(DEPTHS, {}, on="onset"),
    ),
    claims={
        **_depth.claims((2, 3), (4, 5), DEPTHS, released=False),
        **_depth.claims((2, 3), (4, 5), DEPTHS, released=True),
    },
)
