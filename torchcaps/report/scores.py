"""The table: networks against tests, each figure with its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.measures import Score
from torchcaps.report._section import Section


@dataclass(frozen=True)
class Row:
    """A network: what it is, what it costs, how it did.

    Attributes:
        detail: a line of smaller print, such as its name in the registry and its options.
        parameters: those that a prediction needs.
        decoder: parameters of the decoder beside, 0 if there is none.
        seconds: of training.
        scores: by the name of the test.
    """

    name: str
    detail: str
    parameters: int
    decoder: int
    seconds: float
    scores: Mapping[str, Score]


@dataclass(frozen=True, kw_only=True)
class Scores(Section):
    """Networks × tests; `tests` maps the name of each test to what it shows."""

    template: ClassVar[str] = "scores.html"
    title: str = "How they did"
    tests: Mapping[str, str]
    rows: Sequence[Row]


def percent(score: Score) -> str:
    """The share.

    >>> percent(Score(0.9836, 2000, (0.9771, 0.9883)))
    '98.4 %'
    """
    return f"{100 * score.value:.1f} %"


def interval(score: Score) -> str:
    """Both ends of the interval, in percent.

    >>> interval(Score(0.9836, 2000, (0.9771, 0.9883)))
    '97.7–98.8'
    """
    low, high = score.interval
    return f"{100 * low:.1f}–{100 * high:.1f}"
