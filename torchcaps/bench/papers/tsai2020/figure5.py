"""Figure 5: CNNs and capsules with vector and matrix poses on DiverseMultiMNIST, with as many neurons per layer.

    torchcaps bench run tsai2020/figure5 --scale cpu

Cost at `cpu`: about 35 minutes of one core, for narrow networks that see 45,000 images instead of 21 million. Expected:
far from convergence at that size, so orders that differ by a few points stay undecided. The large matrix network is cut
there: its maps are shared by all positions, so as many parameters as vectors have cost far more arithmetic.

The paper learns at 0.1 and does not say how its binary cross entropy is scaled. Ours sums over the ten classes, where
frameworks average: 0.01 here is 0.1 there, step by step, since there is no weight decay.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Budget, Picture, Row
from torchcaps.bench.claims import ordered
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from torchcaps.bench.gather import Gathered

ACCURACY = "test accuracy"


def _row(name: str, title: str, model: str, printed: float, **options: object) -> Row:
    return Row(name, title, {"model": model, "options": options}, {ACCURACY: printed})


ROWS = (
    _row("cnn", "CNN, pooled", "tsai2020/diverse_cnn", 79.81),
    _row("fc_cnn", "CNN, fully connected", "tsai2020/diverse_cnn", 84.84, pool=False),
    _row("dynamic", "Dynamic routing, vectors", "tsai2020/diverse_dynamic", 83.39),
    _row("matrix", "Inverted attention, matrices", "tsai2020/diverse_matrix", 80.59),
    _row("vector", "Inverted attention, vectors", "tsai2020/diverse_vector", 85.74),
    _row("matrix_42m", "Inverted attention, matrices, 42M", "tsai2020/diverse_matrix_42m", 91.17),
)
ORDER = ["matrix_42m", "vector", "fc_cnn", "dynamic", "matrix", "cnn"]


def curves(found: "Gathered", figure: "Figure") -> None:
    """Validation accuracy while training goes on, the mean over seeds."""
    from torchcaps.measures._axes import line_style

    axes = figure.subplots()
    for k, row in enumerate(ROWS):
        courses = found.details(row.id, "course")
        if courses:
            steps = [step for step, _ in courses[0]]
            means = [100 * sum(c[t][1] for c in courses) / len(courses) for t in range(len(steps))]
            axes.plot(steps, means, label=row.title, **line_style(k))
    axes.set(xlabel="steps", ylabel="validation accuracy, %")
    axes.legend()


ARTEFACT = Artefact(
    id="tsai2020/figure5",
    title="DiverseMultiMNIST: poses as vectors and matrices, and CNNs",
    kind="figure",
    rows=ROWS,
    settings={
        "data": "diverse_multi_mnist",
        "batch_size": 128,
        "optimiser": "sgd",
        "lr": 0.01,
        "epochs": 350,
        "lr_schedule": "steps",
    },
    measures=(MeasureSpec("accuracy", {"on": "accuracy"}), MeasureSpec("course")),
    budgets={
        "smoke": Budget(
            minutes=0.4,
            seeds=1,
            settings={"images": 100, "epochs": 1, "options": {"width": 0.05}},
            measures={"accuracy": {"count": 50}},
            cuts=("100 images, one epoch, a twentieth of the width",),
        ),
        "cpu": Budget(
            minutes=90,
            settings={"images": 12_500, "epochs": 4, "options": {"conv_width": 0.0625}},
            rows={"fc_cnn": {"options": {"units": 10_430}}},
            measures={"accuracy": {"count": 2000}},
            cut=frozenset({"matrix_42m"}),
            cuts=(
                "a sixteenth of the channels and of the types of primary capsules: 24.2M parameters for vectors, where "
                "the class layer has most of them, and the fully connected CNN matched again",
                "no matrices of as many parameters: 6 billion multiply-adds per image, 30 hours for three seeds",
                "4 epochs of 11,250 images instead of 350 of 60,000; 2,000 test images",
            ),
        ),
        "paper": Budget(minutes=400_000),
    },
    tables=(grid(ROWS, [Column(ACCURACY, "accuracy")]),),
    pictures=(Picture("Convergence", "The paper plots test accuracy over 350 steps of 60,000 images.", curves),),
    claims={"order": ordered(ORDER, "accuracy")},
)
