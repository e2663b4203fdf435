"""How time grows with children, parents, dimension and batch: dynamic routing, ours and the textbook's."""

from collections.abc import Iterator
from functools import partial

from benchmarks.measure import Call, Effort
from benchmarks.speed.layers import Case, compare, connected, own_steps
from benchmarks.speed.result import OURS, Mode, Row, Workload
from torchcaps.types import CapsShape

PART = "scaling"
BASE = {"children": 512, "parents": 10, "dimension": 16, "batch": 32}
POINTS = {
    "children": (64, 256, 512, 1024, 4096),
    "parents": (2, 10, 32, 64, 128),
    "dimension": (2, 8, 16, 32, 64),
    "batch": (1, 8, 32, 128, 256),
}


def workloads(*, quick: bool) -> Iterator[Workload]:
    """One axis at a time, the others at their base; a quick run takes the first two points."""
    for axis, points in POINTS.items():
        for value in points[:2] if quick else points:
            yield Workload(PART, f"{axis} {value}", partial(_rows, axis, value), partial(_own_calls, axis, value))


def case(axis: str, value: int) -> Case:
    """The layer at a point, and its children."""
    size = {**BASE, axis: value}
    children = CapsShape((1, 1), size["children"], size["dimension"])
    return connected("dynamic", children, size["parents"], size["dimension"], size["batch"])


def _own_calls(axis: str, value: int) -> Iterator[tuple[Mode, dict[str, Call]]]:
    for mode, call in own_steps(*case(axis, value)):
        yield mode, {OURS: call}


def _rows(axis: str, value: int, effort: Effort) -> Iterator[Row]:
    layer, below = case(axis, value)
    for row in compare(PART, f"{axis} {value}", layer, below, effort.brief()):
        yield row._replace(notes={**row.notes, "axis": axis, "value": value})
