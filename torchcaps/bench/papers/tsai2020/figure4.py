"""Figure 4: routing iterations 1 to 5 on CIFAR-10, three ablations of inverted attention, first poses, losses, cost.

    torchcaps bench run tsai2020/figure4 --scale cpu

Cost at `cpu`: about 90 minutes of one core, for networks that see 12,600 images: a step of EM routing takes a second
per iteration. Expected: the ablation without layer norm loses much; differences between numbers of iterations are a few
points in the paper, and probably undecided here.
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Budget, Picture, Row
from torchcaps.bench.claims import (
    alike,
    at_chance,
    at_least,
    every,
    falls,
    greater,
    not_rising,
    peak,
    rises,
    steadier,
)
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Cell, TableSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from torchcaps.bench.gather import Gathered

INVERTED = {"model": "tsai2020/inverted_simple", "optimiser": "sgd", "lr": 0.1, "weight_decay": 5e-4}
KINDS = {
    "dynamic": ("Dynamic routing", {"model": "tsai2020/dynamic_simple", "lr": 1e-3}, {}),
    "em": ("EM routing", {"model": "tsai2020/em_simple", "lr": 1e-2}, {}),
    "inverted": ("Inverted attention", INVERTED, {}),
    "a": ("A, without layer norm", INVERTED, {"norm": False}),
    "b": ("B, sequential", INVERTED, {"concurrently": False}),
    "c": ("C, with activations", INVERTED, {"activations": True}),
}
ITERATIONS = (1, 2, 3, 4, 5)
CUT = {"em": (4, 5), "c": (3, 4, 5)}


def _iterated(kind: str, iters: int) -> Row:
    title, training, options = KINDS[kind]
    return Row(f"{kind}_{iters}", f"{title}, {iters}", {**training, "options": {**options, "iters": iters}})


def _other(name: str, title: str, options: dict[str, object], **training: object) -> Row:
    return Row(name, title, {**INVERTED, **training, "options": {"iters": 2, **options}})


OTHERS = (
    _other("random", "random first poses", {"routing_options": {"start": "random"}}),
    _other("learned", "learned first poses", {"routing_options": {"start": "learned"}}),
    _other("margin", "margin loss", {}, loss={"name": "margin"}),
    _other("spread", "spread loss", {}, loss={"name": "spread"}),
    _other("side_2", "poses of 2×2", {"side": 2}),
    _other("side_3", "poses of 3×3", {"side": 3}),
)
COST = Row(
    "cost", "time and memory", _iterated("inverted", 2).settings, measures=(MeasureSpec("iterations"),), alone=True
)
ROWS = (*(_iterated(kind, t) for kind in KINDS for t in ITERATIONS), *OTHERS, COST)


def of(kind: str) -> list[str]:
    """The rows of a kind, by iterations."""
    return [f"{kind}_{t}" for t in ITERATIONS]


def places(kind: str) -> list[At]:
    """Their accuracies."""
    return [At(row, "accuracy") for row in of(kind)]


def curves(found: "Gathered", figure: "Figure") -> None:
    """Validation accuracy while training goes on: a panel for each routing, a line for each number of iterations."""
    from torchcaps.measures._axes import line_style

    panels = figure.subplots(1, 3, sharey=True)
    for axes, kind in zip(panels, ("dynamic", "em", "inverted"), strict=True):
        for k, (row, t) in enumerate(zip(of(kind), ITERATIONS, strict=True)):
            courses = found.details(row, "course")
            if courses:
                steps = [step for step, _ in courses[0]]
                means = [100 * sum(c[at][1] for c in courses) / len(courses) for at in range(len(steps))]
                axes.plot(steps, means, label=f"{t} iteration" + "s" * (t > 1), **line_style(k))
        axes.set(title=KINDS[kind][0], xlabel="steps")
        axes.legend()
    panels[0].set_ylabel("validation accuracy, %")


ARTEFACT = Artefact(
    id="tsai2020/figure4",
    title="Iterations, ablations, first poses and losses on CIFAR-10",
    kind="figure",
    rows=ROWS,
    settings={"data": "cifar10", "batch_size": 128, "epochs": 350, "lr_schedule": "steps", "augment": "crop_flip"},
    measures=(MeasureSpec("accuracy", {"on": "accuracy"}), MeasureSpec("course")),
    budgets={
        "smoke": Budget(
            minutes=0.6,
            seeds=1,
            settings={"images": 100, "epochs": 1, "options": {"width": 0.05}},
            measures={"accuracy": {"count": 50}},
            cut=frozenset(f"{kind}_{t}" for kind in KINDS for t in (2, 3, 4)),
            cuts=("100 images, one epoch, a twentieth of the width; 1 and 5 iterations",),
        ),
        "cpu": Budget(
            minutes=90,
            settings={"images": 4500, "validation": 0.3, "epochs": 4, "options": {"conv_width": 0.125}},
            measures={"accuracy": {"count": 2000}},
            cut=frozenset(f"{kind}_{t}" for kind in KINDS for t in CUT.get(kind, (3, 4))),
            cuts=(
                "an eighth of the channels and of the types of primary capsules",
                "4 epochs of 3,150 images instead of 350 of 50,000; 2,000 test images",
                "1, 2 and 5 iterations; EM routing with 1, 2 and 3 and ablation C with 1 and 2: more take seconds",
            ),
        ),
        "paper": Budget(minutes=900_000),
    },
    tables=(
        TableSpec(
            tuple(f"{t}" for t in ITERATIONS),
            tuple((KINDS[kind][0], tuple(map(Cell, places(kind)))) for kind in KINDS),
            "Accuracy by routing iterations",
        ),
        TableSpec(
            ("accuracy", "mean validation", "jitter"),
            tuple(
                (row.title, tuple(Cell(At(row.id, on)) for on in ("accuracy", "mean validation", "jitter")))
                for row in (_iterated("inverted", 2), *OTHERS)
            ),
            "First poses, losses and sizes of poses, 2 iterations",
        ),
        TableSpec(
            tuple(f"{t}" for t in ITERATIONS),
            tuple(
                (f"{title}, {unit}", tuple(Cell(At("cost", f"{name}/{t}"), None, "number") for t in ITERATIONS))
                for name, title, unit in (("ms", "inference", "ms"), ("megabytes", "memory in training", "MB"))
            ),
            "Cost of a batch by routing iterations",
        ),
    ),
    pictures=(
        Picture("Convergence", "The paper plots test accuracy over 350 epochs, a panel for each routing.", curves),
    ),
    claims={
        "inverted": rises(of("inverted"), "accuracy"),
        "dynamic": falls(of("dynamic"), "accuracy"),
        "em": peak("em_2", [row for row in of("em") if row != "em_2"], "accuracy"),
        "spread": every(*(steadier(places("inverted"), places(other)) for other in ("dynamic", "em"))),
        "layer_norm": every(*(greater(f"inverted_{t}", f"a_{t}", "accuracy") for t in ITERATIONS)),
        "layer_norm_chance": at_chance("a_5"),
        "sequential": not_rising(of("b"), "accuracy", margin=0.005),
        "activations": every(*(greater(f"inverted_{t}", f"c_{t}", "accuracy") for t in ITERATIONS)),
        "random_start": greater("inverted_2", "random", "mean validation"),
        "learned_start": alike("learned", "inverted_2", "accuracy", margin=0.02),
        "losses": every(*(at_least("inverted_2", loss, "accuracy", margin=0.01) for loss in ("margin", "spread"))),
        "jitter": falls(["side_2", "side_3", "inverted_2"], "jitter"),
    },
)
