"""What an artefact is: a table or figure of a paper, as rows to be trained, measures, printed figures and claims."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from torchcaps.bench.claims import Claim
from torchcaps.bench.data_hash import data_hash
from torchcaps.bench.frozen import frozen
from torchcaps.bench.jobs import Judging, MeasureSpec, Training
from torchcaps.train import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from torchcaps.bench.gather import Gathered
    from torchcaps.bench.table import TableSpec

Scale = Literal["smoke", "cpu", "trained", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "cpu", "trained", "paper")
"""How much of an artefact is done, the smaller first: `trained` is until the networks have learned, on two cores."""
NESTED = ("options", "data_options", "validation_options", "callbacks")
"""Settings that have parts: a row adds to those of its artefact, and a scale to both."""

Parts = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """A row of the paper's table.

    Args:
        settings: of its training, over the artefact's own; None if nothing is trained for it.
        printed: the paper's figures, by the names of their columns.
        measures: instead of the artefact's.
        others: settings of other trainings that the measures need.
        alone: whether it measures time or memory, so that nothing may run beside it.
        seeds: of its own, instead of the artefact's: of pilots, such as (1000, 1001).
    """

    id: str
    title: str
    settings: Parts | None = field(default_factory=dict)
    printed: Mapping[str, float | int | str] = field(default_factory=dict)
    measures: tuple[MeasureSpec, ...] | None = None
    others: tuple[Parts, ...] = ()
    alone: bool = False
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Budget:
    """How much of an artefact a scale does; what is measured is the same at every scale.

    Args:
        minutes: expected, on one core, for all of it.
        settings: of every training, over those of the rows.
        rows: settings of single rows, over those.
        measures: options of measures, by their names.
        cut: rows that the scale leaves out.
        cuts: everything that the scale cuts, in sentences.
        megabytes: the most that one process needs.
    """

    minutes: float | int
    seeds: int = 3
    settings: Parts = field(default_factory=dict)
    rows: Mapping[str, Parts] = field(default_factory=dict)
    measures: Mapping[str, Parts] = field(default_factory=dict)
    cut: frozenset[str] = frozenset()
    cuts: tuple[str, ...] = ()
    megabytes: float | int = 800


@dataclass(frozen=True)
class Picture:
    """A figure of the paper drawn again.

    Args:
        paper: what the paper's own figure shows, in a sentence.
        draw: on a figure of matplotlib, from what was found.
        size: width and height of the figure, in inches.
    """

    title: str
    paper: str
    draw: Callable[["Gathered", "Figure"], None]
    size: tuple[float | int, float | int] = (9, 3.4)


@dataclass(frozen=True)
class Artefact:
    """A table or figure of a paper.

    Args:
        id: `paper/artefact`, as in the frozen list of claims.
        kind: what it is in the paper: "table", "figure", "text".
        settings: of every training; None where nothing is trained.
        measures: of every row.
        budgets: of the scales that it has, of which "smoke" is always one.
        claims: by the ids of the frozen list, which has their sentences.
        tables: the paper's, beside ours.
        about: what its file says of it: command, cost, and what the paper leads us to expect.
        version: raised when measures or rows change their meaning, so that its judgings are run again.
    """

    id: str
    title: str
    kind: Literal["table", "figure", "text"]
    rows: tuple[Row, ...]
    budgets: Mapping[Scale, Budget]
    claims: Mapping[str, Claim]
    settings: Parts | None = None
    measures: tuple[MeasureSpec, ...] = ()
    tables: tuple["TableSpec", ...] = ()
    pictures: tuple[Picture, ...] = ()
    about: str = ""
    version: int = 1
    first_seed: int = 0

    @property
    def paper(self) -> str:
        """The paper's key."""
        return self.id.split("/")[0]

    @property
    def sentences(self) -> dict[str, str]:
        """The claims in words, by id."""
        return frozen()[self.id]

    def row(self, name: str) -> Row:
        """The row of this id."""
        return next(row for row in self.rows if row.id == name)

    def judgings(self, scale: Scale, seeds: int | None = None) -> list[Judging]:
        """All that is to be judged at a scale, row by row."""
        budget = self.budgets[scale]
        rows = [row for row in self.rows if row.id not in budget.cut]
        every = range(self.first_seed, self.first_seed + (seeds or budget.seeds))
        return [self._judging(row, budget, seed) for row in rows for seed in row.seeds or every]

    def _judging(self, row: Row, budget: Budget, seed: int) -> Judging:
        chosen = self.measures if row.measures is None else row.measures
        measures = tuple(MeasureSpec(m.name, {**m.options, **budget.measures.get(m.name, {})}) for m in chosen)
        if self.settings is None or row.settings is None:
            return Judging(self.id, self.version, row.id, seed, measures)
        own = _training([self.settings, row.settings, budget.settings, budget.rows.get(row.id, {})], seed)
        others = tuple(_training([self.settings, other, budget.settings], seed) for other in row.others)
        return Judging(self.id, self.version, row.id, seed, measures, own, others)


def _training(parts: list[Parts], seed: int) -> Training:
    values: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            values[name] = {**values.get(name, {}), **value} if name in NESTED else value
    settings = Settings.from_json({**values, "seed": seed})
    return Training(settings, data_hash(settings))
