"""The trainings that the artefacts of mitterreiter2023 share: deep CapsNets with two kinds of first weights.

The paper gives no first weights, and they decide what its tables show; so there are two rows, weights from N(0, 0.2),
with which networks look like the paper's, and the library's own. Its "AffNIST" is read as training on placed digits and
statistics over affine ones; a row trained on affine digits stands beside.
"""

from collections.abc import Mapping
from typing import Any

from torchcaps.bench.artefact import Budget, Row, Scale

SETTINGS: dict[str, Any] = {
    "model": "mitterreiter2023/capsnet",
    "data": "placed_mnist",
    "batch_size": 128,
    "lr": 1e-3,
    "validation": 0.05,
    "callbacks": {"starvation": {"every": 200}},
}
PAPERS_START = {"options": {"init_std": 0.2}}
PLACED = Row("placed", "affine MNIST, N(0, 0.2)", PAPERS_START)
PLACED_LIBRARY = Row("placed_library", "affine MNIST, the library's start")
TRAINED_AFFINE = Row("affine", "trained on affine MNIST", {**PAPERS_START, "data": "affine_mnist"})
CIFAR = Row("cifar", "CIFAR-10, N(0, 0.2)", {**PAPERS_START, "data": "cifar10"})
CIFAR_LIBRARY = Row("cifar_library", "CIFAR-10, the library's start", {"data": "cifar10"})

SMOKE = {
    "options": {"conv_width": 0.1, "capsules": 4},
    "images": 200,
    "steps": 2,
    "callbacks": {"starvation": {"every": 1, "images": 16}},
}
CPU = {"options": {"conv_width": 0.25}, "steps": 3100, "until_accuracy": 0.96, "judge_every": 100}
TO_THE_END = {"until_accuracy": None, "judge_every": None}
SEEN = {"affine_mnist": 2340, "cifar10": 1170}
"""Steps of rows on such data, which have no accuracy to stop at."""
NARROW, SEEDS = "convolutions of the backbone 1/4", "3 seeds instead of 10"
CUTS = (
    NARROW,
    "stopped at 96 % of held-out placed digits instead of 99.2 %, at most 400,000 seen",
    "300,000 affine digits or 150,000 images of CIFAR-10 seen",
    SEEDS,
)


def budgets(minutes: float | int, *, rows: tuple[Row, ...], count: int = 2000,
            measure: str = "", seen: Mapping[str, int] = SEEN, **more: Any) -> Mapping[Scale, Budget]:  # fmt: skip
    """The same trainings at every scale for every artefact.

    Args:
        minutes: on one core, at `cpu`.
        count: test images at `cpu`.
        measure: whose options `count` is.
        seen: steps at `cpu` of rows on such data, "" being placed digits; all others stop at the same accuracy.
        more: of the budget at `cpu`; rows that it cuts `smoke` cuts too.
    """
    data = {row.id: (row.settings or {}).get("data", "") for row in rows}
    to_the_end = {row: {"steps": seen[name], **TO_THE_END} for row, name in data.items() if name in seen}
    return {
        "smoke": Budget(
            minutes=0.3,
            seeds=1,
            settings=SMOKE,
            measures={measure: {"count": 20}, "accuracy": {"count": 20}},
            cut=more.get("cut", frozenset()),
            cuts=("4 capsules in a layer, 2 steps, 20 test images, one seed", *more.get("cuts", ())[len(CUTS) :]),
        ),
        "cpu": Budget(
            minutes=minutes,
            settings=CPU,
            rows=to_the_end,
            measures={measure: {"count": count}, "accuracy": {"count": 5000}},
            **{"cuts": (*CUTS, f"statistics over {count:,} test images"), **more},
        ),
        "paper": Budget(
            minutes=3000,
            seeds=10,
            settings={"epochs": 200, "until_accuracy": 0.992, "judge_every": 200},
            rows=dict.fromkeys(to_the_end, TO_THE_END),
            megabytes=4000,
        ),
    }
