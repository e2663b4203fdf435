"""Figure 3: ConvNet-FC(LK) against CapsNet on MultiMNIST, over sizes of the training set and over kernel sizes.

    torchcaps bench run gu2021/figure3 --scale cpu

Cost at `cpu`: 75 minutes of one core. N is how many pairs each digit leads, 1 to 1000 in the paper. ConvNet-FC(LK) has
CapsNet's kernels and as many parameters. Expected: ConvNet-FC(LK) ahead at every size (97.11 against 95.18 % at best).
"""

from typing import TYPE_CHECKING

from torchcaps.bench.artefact import Artefact, Budget, Picture, Row
from torchcaps.bench.claims import every, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.gather import Gathered
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.sample import single
from torchcaps.bench.table import Cell, TableSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES, KERNELS = (1, 10, 100, 1000), (3, 5, 7, 11)
TITLES = {"capsnet": "CapsNet", "convnet": "ConvNet-FC(LK)"}
MODELS = {"capsnet": "gu2021/capsnet", "convnet": "gu2021/convnet_fc_lk"}
BEST = {"capsnet": 95.18, "convnet": 97.11}
UNITS = {3: [105, 62], 5: [124, 73], 7: [150, 88], 11: [126, 74]}
"""Of ConvNet-FC(LK) with these kernels, so that it has CapsNet's parameters within 2 %; with 9 it has its own."""


def _row(model: str, name: str, said: str, settings: dict[str, object]) -> Row:
    return Row(f"{model}_{name}", f"{TITLES[model]}, {said}", {"model": MODELS[model], **settings})


def _options(model: str, k: int) -> dict[str, object]:
    return {"kernel": k, **({"units": UNITS[k]} if model == "convnet" else {})}


ROWS = (
    *(_row(m, f"n{n}", f"N = {n}", {"data_options": {"pairs": n}}) for n in SIZES for m in MODELS),
    *(_row(m, f"k{k}", f"{k}×{k}", {"options": _options(m, k)}) for k in KERNELS for m in MODELS),
)


def _cell(row: str, printed: float | None = None) -> Cell:
    return Cell(At(row, "accuracy"), printed)


def _line(model: str) -> tuple[str, tuple[Cell, ...]]:
    sizes = tuple(_cell(f"{model}_n{n}", BEST[model] if n == SIZES[-1] else None) for n in SIZES)
    return TITLES[model], (*sizes, *(_cell(f"{model}_k{k}") for k in KERNELS))


def _draw(found: Gathered, page: "Figure") -> None:
    """Accuracy with its interval against N."""
    axes = page.add_subplot()
    for model, title in TITLES.items():
        sizes = [n for n in SIZES if len(found.seeds(f"{model}_n{n}")) > 1]
        samples = [single(At(f"{model}_n{n}", "accuracy"), found.evidence, found.seeds(f"{model}_n{n}")) for n in sizes]
        means = [100 * sample.mean for sample in samples]
        axes.errorbar(
            sizes, means, [100 * sample.reach(0.05) for sample in samples], label=title, marker="o", capsize=3
        )
    axes.set(xscale="log", xlabel="pairs per digit, N", ylabel="test accuracy, %")
    axes.legend()


ARTEFACT = Artefact(
    id="gu2021/figure3",
    title="A ConvNet with large kernels on overlapping digits",
    kind="figure",
    rows=ROWS,
    settings={"data": "multi_mnist", "data_options": {"pairs": 1000}, "batch_size": 128, "lr": 1e-3, "validation": 0.1},
    measures=(MeasureSpec("accuracy", {"on": "accuracy", "count": 10_000, "data": {"pairs": 1}}),),
    budgets={
        "smoke": Budget(
            minutes=0.4,
            seeds=1,
            settings={"options": {"conv_width": 0.03}, "images": 200, "steps": 2, "validation": 0.0},
            measures={"accuracy": {"count": 50}},
            cuts=("convolutions 1/33, 2 steps, 50 test pairs, one seed",),
        ),
        "cpu": Budget(
            minutes=75,
            settings={"options": {"conv_width": 0.125}, "images": 2200, "steps": 780},
            rows={f"convnet_n{n}": {"options": {"units": [855, 503]}} for n in SIZES},
            measures={"accuracy": {"count": 5000}},
            cut=frozenset({f"{m}_{of}" for m in MODELS for of in ("n1000", *(f"k{k}" for k in KERNELS))}),
            cuts=(
                "N = 1000 and other kernels than 9 left out",
                "2,000 digits instead of 60,000, so that N still matters; 100,000 pairs seen",
                "convolutions and types of primary capsules 1/8, ConvNet-FC(LK) matched again",
                "5,000 test pairs, 3 seeds instead of 5",
            ),
        ),
        "paper": Budget(minutes=100_000, seeds=5, settings={"epochs": 10}, megabytes=6000),
    },
    tables=(TableSpec((*(f"N = {n}" for n in SIZES), *(f"{k}×{k}" for k in KERNELS)), tuple(map(_line, MODELS))),),
    pictures=(Picture("Accuracy and the size of the training set", "The paper's ConvNet leads at every size.", _draw),),
    claims={
        "sizes": every(*(greater(f"convnet_n{n}", f"capsnet_n{n}", "accuracy") for n in SIZES)),
        "kernels": every(*(greater(f"convnet_k{k}", f"capsnet_k{k}", "accuracy") for k in KERNELS)),
    },
)
