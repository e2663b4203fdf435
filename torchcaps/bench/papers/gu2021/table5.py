"""Table 5: how few numbers of a class capsule carry a transformation, for four networks and six factors.

    torchcaps bench run gu2021/table5 --scale cpu

Cost at `cpu`: 35 minutes of one core. An image is shown at 11 values of a factor; variances of the 16 numbers of its
class's capsule, divided by their sum, are compared with uniform ones by the Kullback-Leibler divergence, in nats, whose
most is log 16 = 2.77. The paper's sizes look scaled, so claims are of order. Images are 28×28: the strongest shifts cut
them. Figures for Fashion-MNIST are in a supplement that is not public. Expected: CR above R, CR-SF above both and above
CapsNet.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import Claim, every, greater
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid
from torchcaps.measures.sweep import FACTORS

TITLES = {"r": "ConvNet-R", "cr": "ConvNet-CR", "cr_sf": "ConvNet-CR-SF", "capsnet": "CapsNet"}
DATA = {"mnist": "mnist", "fashion": "fashion_mnist"}
ORDER = ("rotation", "shift_x", "shift_y", "scale", "shear_x", "shear_y")
PRINTED = {
    "r": (0.0003, 0.0016, 0.0009, 0.0004, 0.0003, 0.0007),
    "cr": (0.0028, 0.0038, 0.0032, 0.0052, 0.0058, 0.0022),
    "cr_sf": (0.0325, 0.2010, 0.3192, 0.0146, 0.0476, 0.0506),
    "capsnet": (0.0031, 0.0107, 0.0464, 0.0026, 0.0098, 0.0021),
}
COLUMNS = [Column(factor.replace("_", " "), factor, "number") for factor in ORDER]
MODELS = {"r": "convnet_r", "cr": "convnet_cr", "cr_sf": "convnet_cr_sf", "capsnet": "capsnet"}
SETTINGS = {"batch_size": 128, "lr": 1e-3, "validation": 0.1, "epochs": 30}
SMOKE = {"options": {"conv_width": 0.05}, "images": 200, "steps": 2}
CPU = {"options": {"conv_width": 0.125}, "images": 22_000, "steps": 470}


def rows(data: str) -> tuple[Row, ...]:
    """The four networks on one data set; figure 4 has the same trainings."""
    return tuple(
        Row(
            f"{name}_{data}",
            TITLES[name],
            {"model": f"gu2021/{MODELS[name]}", "data": DATA[data]},
            dict(zip([c.title for c in COLUMNS], PRINTED[name], strict=True)) if data == "mnist" else {},
        )
        for name in MODELS
    )


def _for_every_factor(more: str, less: str, data: str) -> Claim:
    return every(*(greater(f"{more}_{data}", f"{less}_{data}", factor) for factor in FACTORS))


ARTEFACT = Artefact(
    id="gu2021/table5",
    title="Compactness of semantic representations",
    kind="table",
    rows=(*rows("mnist"), *rows("fashion")),
    settings=SETTINGS,
    measures=(MeasureSpec("compactness", {"count": 10_000}),),
    budgets={
        "smoke": Budget(
            minutes=0.4,
            seeds=1,
            settings=SMOKE,
            measures={"compactness": {"count": 10}},
            cuts=("convolutions 1/20, 2 steps, 10 test images, one seed",),
        ),
        "cpu": Budget(
            minutes=35,
            settings=CPU,
            measures={"compactness": {"count": 300}},
            cuts=(
                "convolutions and types of primary capsules 1/8",
                "20,000 training images, 60,000 seen; 300 test images, 3 seeds instead of 5",
            ),
        ),
        "paper": Budget(minutes=3000, seeds=5, megabytes=6000),
    },
    tables=(grid(rows("mnist"), COLUMNS, "MNIST"), grid(rows("fashion"), COLUMNS, "Fashion-MNIST")),
    claims={
        f"{name}_{data}": _for_every_factor(more, less, data)
        for data in DATA
        for name, more, less in (
            ("conditional", "cr", "r"),
            ("squash", "cr_sf", "cr"),
            ("routing", "cr_sf", "capsnet"),
        )
    },
)
