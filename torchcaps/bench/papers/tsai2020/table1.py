"""Table 1: inverted attention against dynamic and EM routing on CIFAR-10 and CIFAR-100, with two backbones, and CNNs.

    torchcaps bench run tsai2020/table1 --scale cpu

Cost at `cpu`: about 90 minutes of one core, for networks that see 32,400 images and stay far from convergence.
Expected: undecided orders at that size; the counts of parameters hold. The published figures of inverted attention
come from code that mixes up poses and positions in its convolutional layers: the rows called "as released" do the same.
"""

from torchcaps.bench.artefact import Artefact, Budget, Parts, Row
from torchcaps.bench.claims import Claim, alike, counted, every, greater, ordered
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid

ACCURACY, COUNT = "test accuracy", "parameters"
SGD = {"optimiser": "sgd", "lr": 0.1, "weight_decay": 5e-4}
ADAM, ADAM_FAST = {"lr": 1e-3}, {"lr": 1e-2}
RELEASED = {"compat": "apple"}
# id, title, model, its training, options, and what the paper printed for CIFAR-10 and CIFAR-100
NETWORKS: tuple[tuple[str, str, str, Parts, Parts, float, float], ...] = (
    ("dynamic_simple", "Dynamic routing, simple", "tsai2020/dynamic_simple", ADAM, {}, 84.08, 56.96),
    ("em_simple", "EM routing, simple", "tsai2020/em_simple", ADAM_FAST, {}, 82.19, 37.73),
    ("inverted_simple", "Inverted attention, simple", "tsai2020/inverted_simple", SGD, {}, 85.17, 57.32),
    ("inverted_simple_released", "the same, as released", "tsai2020/inverted_simple", SGD, RELEASED, 85.17, 57.32),
    ("dynamic_resnet", "Dynamic routing, ResNet", "tsai2020/dynamic_resnet", ADAM, {}, 92.65, 71.70),
    ("em_resnet", "EM routing, ResNet", "tsai2020/em_resnet", ADAM_FAST, {}, 92.15, 58.08),
    ("inverted_resnet", "Inverted attention, ResNet", "tsai2020/inverted_resnet", SGD, {}, 95.14, 78.02),
    ("inverted_resnet_released", "the same, as released", "tsai2020/inverted_resnet", SGD, RELEASED, 95.14, 78.02),
    ("cnn_simple", "Baseline CNN", "tsai2020/cnn_simple", SGD, {}, 87.10, 62.30),
    ("resnet18", "ResNet-18", "tsai2020/resnet18", SGD, {}, 95.11, 77.92),
)
COUNTED = (
    MeasureSpec("parameters", {"classes": [10, 100]}),
    MeasureSpec("parameters", {"classes": [10, 100], "share": 0.25, "on": "a quarter of them"}),
)
MEASURES = (MeasureSpec("accuracy", {"on": "accuracy"}),)


def _rows(suffix: str, data: str, printed: int) -> tuple[Row, ...]:
    rows = []
    for name, title, model, training, options, *figures in NETWORKS:
        settings = {"model": model, "data": data, "options": options, **training}
        measures = MEASURES if suffix else MEASURES + COUNTED
        rows.append(Row(name + suffix, title, settings, {ACCURACY: figures[printed]}, measures))
    return tuple(rows)


TEN, HUNDRED = _rows("", "cifar10", 0), _rows("_100", "cifar100", 1)
NARROW = {"conv_width": 0.125}


def _routings(suffix: str) -> tuple[list[str], list[str]]:
    both = [[f"{r}_{b}{suffix}" for r in ("inverted", "dynamic", "em")] for b in ("simple", "resnet")]
    return both[0], both[1]


def _orders(suffix: str, name: str) -> dict[str, Claim]:
    simple, resnet = _routings(suffix)
    return {
        f"routings_{name}": every(ordered(simple, "accuracy"), ordered(resnet, "accuracy")),
        f"backbones_{name}": every(*(greater(b, a, "accuracy") for a, b in zip(simple, resnet, strict=True))),
        f"cnn_{name}": every(*(greater(f"cnn_simple{suffix}", row, "accuracy") for row in simple)),
        f"resnet18_{name}": alike(f"inverted_resnet{suffix}", f"resnet18{suffix}", "accuracy", margin=0.01),
    }


ARTEFACT = Artefact(
    id="tsai2020/table1",
    title="CIFAR-10 and CIFAR-100: three routings, two backbones, two CNNs",
    kind="table",
    rows=(*TEN, *HUNDRED),
    settings={"batch_size": 128, "epochs": 350, "lr_schedule": "steps", "augment": "crop_flip"},
    budgets={
        "smoke": Budget(
            minutes=0.5,
            seeds=1,
            settings={"images": 100, "epochs": 1, "options": {"width": 0.05}},
            measures={"accuracy": {"count": 50}},
            cut=frozenset(row.id for row in HUNDRED),
            cuts=("100 images, one epoch, a twentieth of the width; no CIFAR-100",),
        ),
        "cpu": Budget(
            minutes=90,
            settings={"images": 9000, "epochs": 4, "options": NARROW},
            measures={"accuracy": {"count": 2000}},
            cuts=(
                "an eighth of the channels and of the types of primary capsules",
                "4 epochs of 8,100 images instead of 350 of 50,000; 2,000 test images",
                "one number of iterations for each routing (2, 3 and 2) instead of the best of 1 to 5",
            ),
        ),
        "paper": Budget(
            minutes=350_000, seeds=3, cuts=("the models' own numbers of iterations, not the best of 1 to 5",)
        ),
    },
    tables=(
        grid(TEN, [Column(ACCURACY, "accuracy"), Column(COUNT, "parameters/10", "count")], "CIFAR-10"),
        grid(HUNDRED, [Column(ACCURACY, "accuracy")], "CIFAR-100"),
    ),
    claims={
        **_orders("", "cifar10"),
        **_orders("_100", "cifar100"),
        "parameters": every(
            *(
                counted(At("inverted_resnet", f"parameters/{n}"), "<=", At("resnet18", f"a quarter of them/{n}"))
                for n in (10, 100)
            )
        ),
    },
)
