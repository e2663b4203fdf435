"""Table 3: kernel sizes 3 to 11 of CapsNet, ConvNet-FC and ConvNet-Avg, on affine digits.

    torchcaps bench run gu2021/table3 --scale cpu

Cost at `cpu`: 90 minutes of one core. All train on placed digits for the same number of steps. The paper prints no
accuracies of ConvNet-FC with kernels of 9 and 11. Expected: larger kernels help; whether CapsNet's lead over ConvNet-FC
goes at equal kernel size, as the paper concludes, its own table denies at 5 and 7.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import at_least, every, greater, rises
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Cell, TableSpec

PRINTED = {  # kernel: standard and affine accuracy
    "capsnet": {3: (96.31, 61.36), 5: (98.18, 70.34), 7: (98.74, 75.82), 9: (99.26, 79.12), 11: (99.1, 86.79)},
    "convnet_fc": {3: (96.54, 64.57), 5: (99.23, 66.08), 7: (99.03, 66.76)},
    "convnet_avg": {3: (97.14, 86.58), 5: (98.58, 90.95), 7: (99.1, 92.31), 9: (99.22, 94.11), 11: (99.34, 90.58)},
}
TITLES = {"capsnet": "CapsNet", "convnet_fc": "ConvNet-FC", "convnet_avg": "ConvNet-Avg"}
KERNELS = (3, 5, 7, 9, 11)
ROWS = tuple(
    Row(f"{model}_{k}", f"{TITLES[model]}, {k}×{k}", {"model": f"gu2021/{model}", "options": {"kernel": k}})
    for model, printed in PRINTED.items()
    for k in printed
)


def _line(model: str) -> tuple[str, tuple[Cell | None, ...]]:
    cells: list[Cell | None] = []
    for k in KERNELS:
        printed = PRINTED[model].get(k)
        for number, on in enumerate(("clean", "affine")):
            cells.append(None if printed is None else Cell(At(f"{model}_{k}", on), printed[number]))
    return TITLES[model], tuple(cells)


def _sizes(model: str, *, of: str = "convnet_avg") -> list[int]:
    return [k for k in PRINTED[model] if k in PRINTED[of]]


ARTEFACT = Artefact(
    id="gu2021/table3",
    title="Kernel sizes and robustness to affine transformations",
    kind="table",
    rows=ROWS,
    settings={"data": "placed_mnist", "batch_size": 128, "lr": 1e-3, "validation": 0.1},
    measures=(
        MeasureSpec("accuracy", {"view": "clean", "count": 10_000}),
        MeasureSpec("accuracy", {"view": "affine", "count": 10_000}),
    ),
    budgets={
        "smoke": Budget(
            minutes=0.4,
            seeds=1,
            settings={"options": {"conv_width": 0.03}, "images": 400, "steps": 2},
            measures={"accuracy": {"count": 50}},
            cuts=("convolutions 1/33, 2 steps, 50 test images, one seed",),
        ),
        "cpu": Budget(
            minutes=90,
            settings={"options": {"conv_width": 0.125}, "images": 22_000, "steps": 780},
            measures={"accuracy": {"count": 5000}},
            cut=frozenset({"capsnet_5", "convnet_fc_5", "convnet_avg_5", "convnet_avg_7"}),
            cuts=(
                "kernels of 5, and of 7 for ConvNet-Avg, left out",
                "convolutions and types of primary capsules 1/8",
                "20,000 training digits, 100,000 seen; 5,000 test digits, 3 seeds instead of 5",
            ),
        ),
        "paper": Budget(minutes=9000, seeds=5, settings={"epochs": 100}, megabytes=6000),
    },
    tables=(
        TableSpec(tuple(f"{k}×{k} {what}" for k in KERNELS for what in ("std", "aff")), tuple(map(_line, TITLES))),
    ),
    claims={
        "capsnet": rises([f"capsnet_{k}" for k in KERNELS], "affine"),
        "convnet_fc": rises([f"convnet_fc_{k}" for k in (3, 5, 7)], "affine"),
        "convnet_avg": every(
            rises([f"convnet_avg_{k}" for k in (3, 5, 7, 9)], "affine"),
            greater("convnet_avg_9", "convnet_avg_11", "affine"),
        ),
        "avg_wins": every(
            *(greater(f"convnet_avg_{k}", f"{m}_{k}", "affine") for m in ("capsnet", "convnet_fc") for k in _sizes(m))
        ),
        "lead": every(
            *(
                at_least(f"convnet_fc_{k}", f"capsnet_{k}", "affine", margin=0.02)
                for k in _sizes("convnet_fc", of="capsnet")
            )
        ),
    },
)
