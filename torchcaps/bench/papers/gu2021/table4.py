"""Table 4: the five components of CapsNet on MultiMNIST, one changed at a time; and ConvNets beside.

    torchcaps bench run gu2021/table4 --scale cpu

Cost at `cpu`: 90 minutes of one core. Two digits of different classes share 36×36 pixels; both must be named. The paper
trains on 6M pairs. That reconstruction and the margin loss help a ConvNet too is said in its text, without figures.
Expected: the paper's drops of 3 to 7 points, of networks that have seen a fiftieth of its pairs.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import alike, every, greater
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid

COLUMNS = (Column("Train-MultiMNIST", "train"), Column("Test-MultiMNIST", "test"))
CHANGES: dict[str, tuple[str, dict[str, object], tuple[float, ...]]] = {
    "base": ("CapsNet", {}, (94.03, 93.26)),
    "routing": ("no routing", {"routing": "uniform"}, (90.28, 90.07)),
    "transformation": ("one shared map", {"share": "all"}, (86.92, 86.44)),
    "squash": ("no squash", {"squash": False}, (87.71, 87.24)),
    "plain": ("plain reconstruction", {"reconstruction": "plain"}, (93.83, 93.19)),
    "reconstruction": ("no reconstruction", {"reconstruction": "none"}, (90.28, 90.17)),
    "loss": ("binary cross entropy", {"loss": "bce"}, (91.64, 91.19)),
}
ROWS = (
    *(
        Row(
            name,
            title,
            {"model": "gu2021/capsnet", "options": options},
            dict(zip([c.title for c in COLUMNS], printed, strict=True)),
        )
        for name, (title, options, printed) in CHANGES.items()
    ),
    Row("convnet_avg", "ConvNet-Avg", {"model": "gu2021/convnet_avg", "options": {"loss": "bce"}}),
    Row("convnet_cr", "ConvNet-CR", {"model": "gu2021/convnet_cr"}),
    Row("convnet_c", "ConvNet-CR, no reconstruction", {"model": "gu2021/convnet_cr", "reconstruction_weight": 0.0}),
    Row(
        "convnet_margin",
        "ConvNet-CR, margin loss",
        {"model": "gu2021/convnet_cr", "loss": {"name": "margin", "logits": True}},
    ),
)

ARTEFACT = Artefact(
    id="gu2021/table4",
    title="Which components tell overlapping digits apart",
    kind="table",
    rows=ROWS,
    settings={"data": "multi_mnist", "data_options": {"pairs": 100}, "batch_size": 128, "lr": 1e-3, "validation": 0.1},
    measures=(
        MeasureSpec("accuracy", {"on": "train", "split": "train", "count": 10_000, "data": {"pairs": 1}}),
        MeasureSpec("accuracy", {"on": "test", "count": 10_000, "data": {"pairs": 1}}),
    ),
    budgets={
        "smoke": Budget(
            minutes=0.4,
            seeds=1,
            settings={"options": {"conv_width": 0.05}, "images": 300, "data_options": {"pairs": 1}, "steps": 2},
            measures={"accuracy": {"count": 50}},
            cuts=("convolutions 1/20, 2 steps, 50 test pairs, one seed",),
        ),
        "cpu": Budget(
            minutes=90,
            settings={
                "options": {"conv_width": 0.125},
                "data_options": {"pairs": 10},
                "validation": 0.01,
                "steps": 937,
            },
            measures={"accuracy": {"count": 5000}},
            cuts=(
                "convolutions and types of primary capsules 1/8",
                "120,000 pairs seen instead of 6M; 5,000 test pairs, 3 seeds instead of 5",
            ),
        ),
        "paper": Budget(minutes=20_000, seeds=5, settings={"epochs": 10}, megabytes=6000),
    },
    tables=(grid(ROWS, COLUMNS),),
    claims={
        **{name: greater("base", name, "test") for name in ("routing", "transformation", "squash")},
        "reconstruction": greater("base", "reconstruction", "test"),
        "loss": greater("base", "loss", "test"),
        "plain": alike("base", "plain", "test", margin=0.01),
        "most": every(
            *(greater(name, "transformation", "test") for name in ("routing", "squash", "reconstruction", "loss"))
        ),
        "convnet_avg": greater("base", "convnet_avg", "test"),
        "convnet_reconstruction": greater("convnet_cr", "convnet_c", "test"),
        "convnet_loss": greater("convnet_margin", "convnet_cr", "test"),
    },
)
