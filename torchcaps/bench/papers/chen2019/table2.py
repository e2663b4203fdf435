"""Table 2: error and parameters of G-CapsNets, a CNN and CapsNet on MNIST and CIFAR-10, and the time of a step.

    torchcaps bench run chen2019/table2 --scale cpu

Cost at `cpu`: about 75 minutes of one core. Expected: the parameters as printed; on MNIST the gaps, tenths of a point,
are below what this size can tell; a step with trainable coupling takes about as long as one with uniform coupling.
"""

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import Claim, below, counted, every, greater
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.table import Column, grid

ERROR = "error, %"
NO_DECODER = {"reconstruction": "none"}
JUDGED = (MeasureSpec("accuracy", {"on": "accuracy"}), MeasureSpec("parameters"))


def _row(name: str, title: str, data: str, model: str, error: float, **options: object) -> Row:
    return Row(f"{name}_{data}", title, {"model": model, "data": data, "options": options}, {ERROR: error}, JUDGED)


MNIST = (
    _row("cnn", "CNN", "mnist", "chen2019/cnn", 0.91),
    _row("capsnet", "CapsNet", "mnist", "sabour2017/capsnet", 1.24),
    _row("fc", "FC G-CapsNet", "mnist", "chen2019/fc_gcaps", 0.67),
    _row("fc_plain", "FC G-CapsNet, no reconstruction", "mnist", "chen2019/fc_gcaps", 0.66, **NO_DECODER),
    _row("conv", "Conv G-CapsNet", "mnist", "chen2019/conv_gcaps", 0.84),
    _row("conv_plain", "Conv G-CapsNet, no reconstruction", "mnist", "chen2019/conv_gcaps", 0.86, **NO_DECODER),
)
CIFAR = (
    _row("cnn", "CNN", "cifar10", "chen2019/cnn_cifar", 36.54),
    _row("capsnet", "CapsNet", "cifar10", "chen2019/capsnet_cifar", 40.88),
    _row("fc", "FC G-CapsNet", "cifar10", "chen2019/fc_gcaps_cifar", 32.70),
    _row("conv", "Conv G-CapsNet", "cifar10", "chen2019/conv_gcaps_cifar", 33.53),
    _row("multi", "Multi G-CapsNet", "cifar10", "chen2019/multi_gcaps", 34.29),
)


def _time(name: str, title: str, model: str) -> Row:
    spec = MeasureSpec("step_time", {"against": "uniform", "model": model})
    return Row(name, title, None, measures=(spec,), alone=True)


TIMES = (
    _time("time_fc", "FC G-CapsNet ÷ uniform coupling", "chen2019/fc_gcaps"),
    _time("time_conv", "Conv G-CapsNet ÷ uniform coupling", "chen2019/conv_gcaps"),
)
CAPSULES = {"mnist": ("fc", "fc_plain", "conv", "conv_plain"), "cifar10": ("fc", "conv", "multi")}
C = {"mnist": 11_520, "cifar10": 20_480}  # the coefficients c, which CapsNet computes instead


def _errors(data: str) -> Claim:
    lower = (greater(f"{name}_{data}", f"cnn_{data}", "accuracy") for name in CAPSULES[data])
    return every(*lower, greater(f"cnn_{data}", f"capsnet_{data}", "accuracy"))


def _sizes(data: str) -> list[Claim]:
    capsnet = At(f"capsnet_{data}", "parameters/10")
    room = C[data] / {"mnist": 8_215_568, "cifar10": 2_653_696}[data]
    return [counted(At(f"{name}_{data}", "parameters/10"), "<=", capsnet, tolerance=room) for name in CAPSULES[data]]


COLUMNS = (Column(ERROR, "accuracy", "error"), Column("parameters", "parameters/10", "count"))

ARTEFACT = Artefact(
    id="chen2019/table2",
    title="Error and parameters on MNIST and CIFAR-10",
    kind="table",
    rows=(*MNIST, *CIFAR, *TIMES),
    settings={"batch_size": 128, "lr": 1e-3, "epochs": 50},
    budgets={
        "smoke": Budget(
            minutes=0.5,
            seeds=1,
            settings={"images": 100, "epochs": 1, "options": {"width": 0.05}},
            measures={"accuracy": {"count": 50}, "step_time": {"width": 0.05, "batch": 4, "rounds": 2}},
            cuts=("100 images, one epoch, a twentieth of the width",),
        ),
        "cpu": Budget(
            minutes=75,
            settings={"images": 20_000, "epochs": 5, "options": {"conv_width": 0.125}},
            measures={"accuracy": {"count": 5000}, "step_time": {"batch": 16, "rounds": 5}},
            rows={row.id: {"options": {"conv_width": 0.25}} for row in CIFAR},
            cuts=(
                "an eighth (CIFAR-10: a quarter) of the channels and types of primary capsules",
                "5 epochs of 18,000 images; 5,000 test images",
            ),
        ),
        "paper": Budget(minutes=20_000, seeds=5),
    },
    tables=(
        grid(MNIST, COLUMNS, "MNIST"),
        grid(CIFAR, COLUMNS, "CIFAR-10"),
        grid(TIMES, [Column("ratio of step times", "ratio", "number")], "Overhead of trainable coupling"),
    ),
    claims={
        "mnist": _errors("mnist"),
        "cifar10": _errors("cifar10"),
        "parameters": every(*_sizes("mnist"), *_sizes("cifar10")),
        "overhead": every(*(below(row.id, 1.1, "ratio") for row in TIMES)),
    },
)
