"""Which classes a network tells well, and which it takes for which."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.measures import AccuracyResult
from torchcaps.report._section import Section

MOST = 40  # classes; the matrix of more is no picture any more


@dataclass(frozen=True, kw_only=True)
class Confusion(Section):
    """For each network the accuracy of each class, and the matrix, where classes are few enough to be seen."""

    template: ClassVar[str] = "confusion.html"
    title: str = "Class by class"
    note: str = (
        "Rows are the classes that images show, columns those that were named; the diagonal is right. A cell is as "
        "dark as its share of the row."
    )
    networks: Sequence[tuple[str, AccuracyResult]]

    @property
    def matrices(self) -> "list[tuple[str, AccuracyResult, list[Row]]]":
        """For each network its result, and its rows."""
        return [(name, found, rows(found)) for name, found in self.networks]


@dataclass(frozen=True)
class Row:
    """A class: its accuracy in words, how many images show it, and a count and a share for each class named."""

    name: str
    accuracy: str
    interval: str
    shown: int
    cells: list[tuple[int, float]]


def rows(found: AccuracyResult) -> list[Row]:
    """A row for each class that is shown; without cells where there are more than forty classes."""
    made = []
    for name, score in found.by_class.items():
        counts = found.confusion[found.classes.index(name)] if len(found.classes) <= MOST else ()
        low, high = score.interval
        cells = [(n, n / max(1, score.count)) for n in counts]
        made.append(Row(name, f"{score.value:.1%}", f"{low:.1%}–{high:.1%}", score.count, cells))
    return made
