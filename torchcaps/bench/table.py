"""The paper's table beside ours: the same rows and columns, ours with intervals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from torchcaps.bench.artefact import Row
from torchcaps.bench.evidence import At, Evidence
from torchcaps.bench.sample import single

SAME = 1e-6
"""Numbers that differ by less are equal, but for rounding."""

Form = Literal["percent", "error", "number", "count"]
"""How a number is written: a share as a percentage, or what is missing to 100 %, a number as it is, a whole number."""


class Column(NamedTuple):
    """A column of the paper's table, and the number that stands in it."""

    title: str
    on: str
    form: Form = "percent"


@dataclass(frozen=True)
class Cell:
    """A place of a table: the number it shows, and what the paper printed there, if anything."""

    at: At
    printed: float | int | str | None = None
    form: Form = "percent"


@dataclass(frozen=True)
class TableSpec:
    """A table: titles of its columns, and lines of a title and cells each; None for an empty cell."""

    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell | None, ...]], ...]
    title: str = ""


@dataclass(frozen=True)
class Value:
    """A cell filled in, in the paper's unit.

    Args:
        ours: the mean over seeds; None if there is none.
        interval: its 95 % interval over seeds and images; None with fewer than two seeds.
        apart: 1 if ours is higher than the paper's, −1 if lower, 0 if the paper's figure lies in our interval.
    """

    printed: float | int | str | None
    ours: float | int | None
    interval: tuple[float, float] | None
    seeds: int
    form: Form
    apart: int = 0


@dataclass(frozen=True)
class Filled:
    """A table with its values."""

    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Value | None, ...]], ...]


def grid(rows: Iterable[Row], columns: Sequence[Column], title: str = "") -> TableSpec:
    """The usual table: a line for each row, with the figures that the row has printed under the columns' titles.

    >>> from torchcaps.bench.artefact import Row
    >>> table = grid([Row("a", "A", printed={"accuracy": 99.1})], [Column("accuracy", "clean")])
    >>> table.columns, table.lines[0][1][0].printed
    (('accuracy',), 99.1)
    """
    lines = tuple(
        (row.title, tuple(Cell(At(row.id, c.on), row.printed.get(c.title), c.form) for c in columns)) for row in rows
    )
    return TableSpec(tuple(column.title for column in columns), lines, title)


def fill(table: TableSpec, evidence: Evidence) -> Filled:
    """The table with what was found.

    >>> from torchcaps.bench.artefact import Row
    >>> empty = fill(grid([Row("a", "A")], [Column("accuracy", "clean")]), Evidence({}))
    >>> empty.lines[0][1][0].ours is None
    True
    """
    lines = tuple(
        (title, tuple(None if cell is None else _value(cell, evidence) for cell in cells))
        for title, cells in table.lines
    )
    return Filled(table.title, table.columns, lines)


def _value(cell: Cell, evidence: Evidence) -> Value:
    found = evidence[cell.at]
    seeds = [seed for seed, number in found.items() if number.value is not None]
    if not seeds:
        return Value(cell.printed, None, None, 0, cell.form)
    unit, rest = {"percent": (100.0, 0.0), "error": (-100.0, 100.0)}.get(cell.form, (1.0, 0.0))
    sample = single(cell.at, evidence, seeds)
    ours = rest + unit * sample.mean
    if len(seeds) < 2:
        return Value(cell.printed, ours, None, len(seeds), cell.form)
    low, high = sorted(rest + unit * end for end in sample.interval())
    return Value(cell.printed, ours, (low, high), len(seeds), cell.form, _apart(cell.printed, low, high))


def _apart(printed: float | int | str | None, low: float, high: float) -> int:
    if not isinstance(printed, float | int):
        return 0
    return (low > printed + SAME) - (high < printed - SAME)
