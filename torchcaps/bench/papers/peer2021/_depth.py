"""What tables 2 and 3 share: networks of growing depth with a bias and without, the paper's way and the authors'."""

from collections.abc import Mapping, Sequence
from typing import Any

from torchcaps.bench.artefact import Row
from torchcaps.bench.claims import Claim, at_chance, every, trains
from torchcaps.bench.evidence import At
from torchcaps.bench.table import Cell, TableSpec

DATA = {"mnist": "MNIST", "fashion": "Fashion"}
NAMES = {"mnist": "mnist", "fashion": "fashion_mnist"}
SETTINGS: dict[str, Any] = {"batch_size": 256, "lr": 1e-4, "epochs": 50, "validation": 0.0}
RELEASED: dict[str, Any] = {
    "standardise": True,
    "options": {"start": "glorot", "reconstruction": "plain", "squash_eps": 1e-8},
}
"""What the authors' code has and the paper does not say."""

Printed = Mapping[tuple[str, bool], Sequence[float]]


def name(data: str, depth: int, *, bias: bool, released: bool = False) -> str:
    """The id of a row."""
    return f"{data}_{depth}" + "_bias" * bias + "_released" * released


def rows(depths: Sequence[int], released_options: Mapping[str, Any]) -> tuple[Row, ...]:
    """Every data set, depth and bias, the paper's way first.

    Args:
        released_options: of the model, which the authors' code has for this routing besides.
    """
    made = []
    for released in (False, True):
        for data, title in DATA.items():
            for bias in (False, True):
                for depth in depths:
                    options = {"depth": depth, "bias": bias}
                    own: dict[str, Any] = {"data": NAMES[data], "options": options}
                    if released:
                        options = {**RELEASED["options"], **released_options, **options}
                        own = {**RELEASED, "data": NAMES[data], "options": options}
                    said = f"{title}, {'bias' if bias else 'no bias'}, {depth} layers" + ", as released" * released
                    made.append(Row(name(data, depth, bias=bias, released=released), said, own))
    return tuple(made)


def table(depths: Sequence[int], printed: Printed, *, on: str = "accuracy", released: bool = False) -> TableSpec:
    """The paper's table: a line for data set and bias, a column for each depth."""
    lines = tuple(
        (
            f"{title}, {'bias' if bias else 'no bias'}",
            tuple(
                Cell(At(name(data, depth, bias=bias, released=released), on), figure)
                for depth, figure in zip(depths, printed.get((data, bias), [None] * len(depths)), strict=True)
            ),
        )
        for data, title in DATA.items()
        for bias in (False, True)
    )
    what = {"accuracy": "Test accuracy", "onset": "Learning starts after so much of the steps"}[on]
    how = "with the settings of the authors' code" if released else "by the paper's formulas"
    return TableSpec(tuple(f"{depth} layers" for depth in depths), lines, f"{what}, {how}")


def claims(shallow: Sequence[int], deep: Sequence[int], depths: Sequence[int], *, released: bool) -> dict[str, Claim]:
    """What trains, what stays at chance, and that with a bias all train."""
    ending = "_released" * released

    def row(data: str, depth: int, *, bias: bool) -> str:
        return name(data, depth, bias=bias, released=released)

    return {
        f"shallow{ending}": every(*(trains(row(d, n, bias=False)) for d in DATA for n in shallow)),
        f"deep{ending}": every(
            *(
                at_chance(
                    row(d, n, bias=False), started=[row(d, n, bias=True), *(row(d, k, bias=False) for k in shallow)]
                )
                for d in DATA
                for n in deep
            )
        ),
        f"bias{ending}": every(*(trains(row(d, n, bias=True)) for d in DATA for n in depths)),
    }
