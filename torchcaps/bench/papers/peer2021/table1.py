"""Table 1: capsules without a bias cannot tell the sign of a number.

    torchcaps bench run peer2021/table1 --scale cpu

Cost at `cpu`, the paper's own setting: two minutes of one core. Expected: without a bias u and −u have the same class
scores, so that nothing above chance can be learned; with one both routings learn the sign.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import above, at_chance, every
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid

ACCURACY = "training accuracy"
ROWS = (
    Row("rba", "RBA, no bias", {"options": {"routing": "dynamic", "bias": False}}, {ACCURACY: 49.61}),
    Row("rba_bias", "RBA, bias", {"options": {"routing": "dynamic", "bias": True}}, {ACCURACY: 99.70}),
    Row("em", "EM, no bias", {"options": {"routing": "em", "bias": False}}, {ACCURACY: 49.42}),
    Row("em_bias", "EM, bias", {"options": {"routing": "em", "bias": True}}, {ACCURACY: 99.81}),
)

ARTEFACT = Artefact(
    id="peer2021/table1",
    title="The sign of a scalar",
    kind="table",
    rows=ROWS,
    settings={
        "model": "peer2021/sign",
        "data": "sign",
        "batch_size": 256,
        "lr": 5e-3,
        "epochs": 50,
        "validation": 0.0,
        "loss": {"name": "margin", "down_weight": 1.0},
    },
    measures=(MeasureSpec("accuracy", {"split": "train", "on": "accuracy"}), MeasureSpec("onset", {"classes": 2})),
    budgets={
        "smoke": Budget(
            minutes=0.1, seeds=2, settings={"images": 2000, "epochs": 2}, cuts=("2,000 numbers, 2 epochs",)
        ),
        "cpu": Budget(minutes=6, seeds=5),
        "paper": Budget(minutes=6, seeds=5),
    },
    tables=(grid(ROWS, [Column(ACCURACY, "accuracy")]),),
    claims={
        "no_bias": every(
            at_chance("rba", answers=2, started=["rba_bias"]), at_chance("em", answers=2, started=["em_bias"])
        ),
        "bias": every(above("rba_bias", 0.99, "accuracy"), above("em_bias", 0.99, "accuracy")),
    },
)
