"""The cross table: every routing against every test at one common budget, with ConvNets beside.

    torchcaps bench run cross/table --scale cpu

Cost at `cpu`: 95 minutes of one core. CapsNet with each routing, and three ConvNets, learn 28×28 digits and meet
affine ones, pairs of which they saw none, transformations (compactness) and PGD; mitterreiter2023's five layers tell
how many hidden capsules live; peer2021's smallest network is asked the sign of a number, without a bias; time, memory
and parameters are those of the full size. Expected: nothing; it is here to be found out. One claim is gu2021's, that
no single ConvNet wins everywhere. All learn alike but for the loss: the margin loss, but spread loss with EM and cross
entropy with inverted attention, as their papers have it; the sign is asked of the latter without its layer norm, which
leaves nothing of one number.
"""

from typing import Any

from torchcaps.bench.artefact import Artefact, Budget, Row
from torchcaps.bench.claims import every, greater, some
from torchcaps.bench.evidence import At
from torchcaps.bench.jobs import MeasureSpec
from torchcaps.bench.losses import LOSSES
from torchcaps.bench.papers._routings import ROUTINGS
from torchcaps.bench.table import Cell, Form, TableSpec

CONVNETS = {"convnet_fc": "ConvNet-FC", "convnet_avg": "ConvNet-Avg", "convnet_cr": "ConvNet-CR"}
TESTS = (
    MeasureSpec("accuracy", {"view": "clean", "count": 10_000}),
    MeasureSpec("accuracy", {"view": "affine", "count": 10_000}),
    MeasureSpec("accuracy", {"view": "overlap", "count": 10_000}),
    MeasureSpec("descent", {"count": 1000}),
)
COMPACT = MeasureSpec("compactness", {"count": 1000})
SIGN = {"model": "peer2021/sign", "data": "sign", "lr": 5e-3, "batch_size": 256, "validation": 0.0}
ASKED = MeasureSpec("accuracy", {"on": "sign", "count": 10_000})
COLUMNS: dict[str, tuple[str, str, Form]] = {
    "clean": ("digits", "clean", "percent"),
    "affine": ("digits", "affine", "percent"),
    "overlap": ("digits", "overlap", "percent"),
    "PGD 0.1": ("digits", "pgd", "percent"),
    "compactness": ("digits", "compactness", "number"),
    "living, 5 layers": ("deep", "living", "percent"),
    "clean, 5 layers": ("deep", "clean", "percent"),
    "sign": ("sign", "sign", "percent"),
    "ms a step": ("cost", "ms", "number"),
    "MB": ("cost", "megabytes", "number"),
    "parameters (M)": ("cost", "parameters", "number"),
}


def _sign(name: str) -> dict[str, Any]:
    if name == "inverted_attention":  # its layer norm leaves nothing of a single number
        return {"routing": name, "routing_options": {"norm": False}}
    return {"routing": name}


def _routing(name: str) -> tuple[Row, ...]:
    options: dict[str, Any] = {"routing": name, **({"loss": LOSSES[name]} if name in LOSSES else {})}
    full = {"model": "sabour2017/capsnet", "options": options}
    deep = (MeasureSpec("layers", {"view": "clean", "count": 10_000}), TESTS[0])
    return (
        Row(f"{name}_digits", name, full, measures=(*TESTS, COMPACT)),
        Row(f"{name}_deep", name, {"model": "mitterreiter2023/capsnet", "options": options}, measures=deep),
        Row(f"{name}_sign", name, {**SIGN, "options": _sign(name)}, measures=(ASKED,)),
        Row(f"{name}_cost", name, None, measures=(MeasureSpec("cost", full),), alone=True),
    )


def _convnet(name: str) -> tuple[Row, ...]:
    measures = (*TESTS, COMPACT) if name == "convnet_cr" else TESTS
    cost = MeasureSpec("cost", {"model": f"gu2021/{name}", "options": {"image_size": 28}})
    return (
        Row(f"{name}_digits", CONVNETS[name], {"model": f"gu2021/{name}"}, measures=measures),
        Row(f"{name}_cost", CONVNETS[name], None, measures=(cost,), alone=True),
    )


ROWS = tuple(row for name in ROUTINGS for row in _routing(name)) + tuple(r for name in CONVNETS for r in _convnet(name))
SIGNS = [row.id for row in ROWS if row.id.endswith("_sign")]


def _line(name: str, title: str) -> tuple[str, tuple[Cell | None, ...]]:
    known = {row.id for row in ROWS}
    return title, tuple(
        Cell(At(f"{name}_{part}", on), form=form) if f"{name}_{part}" in known else None
        for part, on, form in COLUMNS.values()
    )


def _beaten(name: str) -> Any:
    tests = ("affine", "overlap", "compactness") if name == "convnet_cr" else ("affine", "overlap")
    return some(*(greater("dynamic_digits", f"{name}_digits", on) for on in tests))


ARTEFACT = Artefact(
    id="cross/table",
    title="Every routing, every test",
    kind="table",
    rows=ROWS,
    settings={"data": "mnist", "batch_size": 128, "lr": 1e-3, "validation": 0.05, "epochs": 30},
    budgets={
        "smoke": Budget(
            minutes=0.3,
            seeds=1,
            settings={"images": 100, "steps": 2, "batch_size": 16, "options": {"conv_width": 0.05}},
            rows={row: {"images": 0, "options": {}} for row in SIGNS},
            measures={
                "accuracy": {"count": 30},
                "descent": {"count": 5, "steps": 2},
                "compactness": {"count": 3},
                "layers": {"count": 20},
                "cost": {"width": 0.1, "batch": 1, "seconds": 0.01},
            },
            cuts=("100 images, 2 steps, convolutions 1/20, 30 test images, one seed; costs at a tenth of the width",),
        ),
        "cpu": Budget(
            minutes=95,
            settings={"images": 22_000, "steps": 700, "options": {"conv_width": 0.125}},
            rows={
                **{row.id: {"options": {"conv_width": 0.25}} for row in ROWS if row.id.endswith("_deep")},
                **{row: {"images": 0, "steps": 800, "options": {}} for row in SIGNS},
            },
            measures={
                "accuracy": {"count": 5000},
                "descent": {"count": 200},
                "compactness": {"count": 200},
                "layers": {"count": 1000},
            },
            cuts=(
                "22,000 digits, 90,000 seen in 700 steps",
                "convolutions and types of primary capsules 1/8, those of the deep networks 1/4",
                "5,000 test digits, 200 for PGD and compactness",
            ),
        ),
        "paper": Budget(minutes=5000, seeds=5, megabytes=6000),
    },
    tables=(
        TableSpec(
            tuple(COLUMNS),
            tuple(_line(name, name.replace("_", " ")) for name in ROUTINGS)
            + tuple(_line(name, title) for name, title in CONVNETS.items()),
        ),
    ),
    claims={"no_single_convnet": every(*(_beaten(name) for name in CONVNETS))},
)
