"""The table: networks against tests, each figure with its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.measures import Score
from torchcaps.report._section import Section

ABOUT_CAPSULES = {
    "dead capsules": "Those whose activation is at most 0.01 on average and in its deviation over test images; – where "
    "there are no activations.",
    "routing dynamics": "How much couplings change from image to image (dyr): 0 never, 1 as much as they can.",
}


@dataclass(frozen=True)
class Row:
    """A network: what it is, what it costs, how it did.

    Attributes:
        detail: a line of smaller print, such as its name in the registry and its options.
        parameters: those that a prediction needs.
        decoder: parameters of the decoder beside, 0 if there is none.
        seconds: of training.
        scores: by the name of the test; a test that a network was not put to is left out.
        dead: how many capsules are dead, and of how many; None if nobody knows.
        dynamics: routing dynamics (dyr), the mean over layers; None if there is no routing.
    """

    name: str
    detail: str
    parameters: int
    decoder: int
    seconds: float
    scores: Mapping[str, Score]
    dead: tuple[int, int] | None = None
    dynamics: float | None = None


@dataclass(frozen=True, kw_only=True)
class Scores(Section):
    """Networks × tests; `tests` maps the name of each test to what it shows."""

    template: ClassVar[str] = "scores.html"
    title: str = "How they did"
    tests: Mapping[str, str]
    rows: Sequence[Row]

    @property
    def capsules(self) -> bool:
        """Whether anything is known about capsules."""
        return any(row.dead is not None or row.dynamics is not None for row in self.rows)

    @property
    def meanings(self) -> dict[str, str]:
        """What stands in each column."""
        return {**self.tests, **(ABOUT_CAPSULES if self.capsules else {})}


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
