"""The trainings that the sentences of gu2021 are about: networks that have learned, in three groups.

*Placed digits*: averaged weights at a constant rate, kept on the way; affine digits are looked at where validation
accuracy passes a level. *Pairs*: overlapping digits in one cycle of the learning rate, with pilots as long and twice as
long. *Compactness*: 28×28 digits, stopped at equal validation accuracy.
"""

from collections.abc import Mapping
from typing import Any

from torchcaps.bench.artefact import Row
from torchcaps.bench.jobs import MeasureSpec

LEVEL, LEVELS = 0.97, (0.95, 0.96, 0.97, 0.98)
"""Validation accuracy at which affine accuracies are compared, and others that are shown."""
EQUAL = 0.985
"""Validation accuracy at which networks on 28×28 digits stop for compactness."""
POINT, NATS = 0.01, 0.03
"""The smallest differences of interest: one point of accuracy, 0.03 of at most 2.77 nats of compactness."""
PILOT_SEEDS = (1000, 1001)

PLACED: Mapping[str, tuple[str, dict[str, Any]]] = {
    "capsnet": ("CapsNet", {}),
    "capsnet_nor": ("CapsNet, no routing", {}),
    "aff_capsnet": ("Aff-CapsNet", {}),
    "aff_capsnet_dr": ("Aff-CapsNet, dynamic routing", {}),
    "convnet_avg": ("ConvNet-Avg", {}),
    "convnet_fc_lk": ("ConvNet-FC(LK)", {"units": [656, 386]}),
    "convnet_cr_sf": ("ConvNet-CR-SF", {}),
}
PAIRS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "capsnet": ("CapsNet", {}),
    "convnet_avg": ("ConvNet-Avg", {"loss": "bce"}),
    "convnet_fc_lk": ("ConvNet-FC(LK)", {"units": [855, 503]}),
    "convnet_cr_sf": ("ConvNet-CR-SF", {}),
}
COMPACT = {"convnet_r": "ConvNet-R", "convnet_cr": "ConvNet-CR", "convnet_cr_sf": "ConvNet-CR-SF", "capsnet": "CapsNet"}
WIDTH = {"conv_width": 0.125}
AFFINE, JUDGED = f"affine@{LEVEL:g}", f"validation@{LEVEL:g}"
IMAGES = [1000 * k for k in (20, 40, 60, 80, 100, 130, 160, 200, 250, 320, 400, 500, 640)]
"""Seen when weights are kept, if the training goes so far."""
HELD_OUT: Mapping[str, Any] = {"batch_size": 128, "validation": 0.166666}
AT_LEVELS = MeasureSpec("trajectory", {"views": {"clean": {}, "affine": {}}, "levels": list(LEVELS), "count": 10_000})
OF_PAIRS = (MeasureSpec("accuracy", {"on": "pairs", "count": 10_000, "data": {"pairs": 1}}), MeasureSpec("course"))


def _placed(name: str) -> Row:
    title, options = PLACED[name]
    settings = {
        "model": f"gu2021/{name}",
        "options": options,
        "data": "placed_mnist",
        "lr": 3e-3,
        "average": 0.999,
        "callbacks": {"trajectory": {"images": IMAGES}},
    }
    return Row(f"placed_{name}", f"{title}, placed digits", settings, measures=(AT_LEVELS,))


def _pairs(name: str) -> Row:
    title, options = PAIRS[name]
    settings = {
        "model": f"gu2021/{name}",
        "options": options,
        "data": "multi_mnist",
        "data_options": {"pairs": 100},
        "validation_data": "multi_mnist",
        "validation_options": {"pairs": 1},
        "lr": 3e-3,
        "lr_schedule": "one_cycle",
    }
    return Row(f"pairs_{name}", f"{title}, pairs", settings, measures=OF_PAIRS)


def _pilot(row: Row, *, doubled: bool) -> Row:
    """The same training on seeds that no result uses, as long or twice as long."""
    ending, said = ("_doubled", "pilot, twice as long") if doubled else ("_pilot", "pilot")
    return Row(f"{row.id}{ending}", f"{row.title}, {said}", row.settings, measures=OF_PAIRS[1:], seeds=PILOT_SEEDS)


def _compact(name: str) -> Row:
    settings = {
        "model": f"gu2021/{name}",
        "data": "mnist",
        "average": 0.999,
        "until_accuracy": EQUAL,
        "judge_every": 100,
    }
    measures = (MeasureSpec("compactness", {"count": 1000}), MeasureSpec("accuracy"), MeasureSpec("course"))
    return Row(f"compact_{name}", f"{COMPACT[name]}, 28×28 digits", settings, measures=measures)


PLACED_ROWS, COMPACT_ROWS = tuple(map(_placed, PLACED)), tuple(map(_compact, COMPACT))
PAIRS_ROWS = tuple(map(_pairs, PAIRS))
PILOTS = tuple(_pilot(row, doubled=doubled) for row in PAIRS_ROWS for doubled in (False, True))
