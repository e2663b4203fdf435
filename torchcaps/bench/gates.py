"""Gates: what must be true of rows, by their means over seeds, for a comparison of them to mean anything.

Rows can be compared if they have learned: each has reached the accuracy at which rows are compared, or would not
improve if it learned twice as long. A claim of which a gate is not passed is not comparable, whatever its interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from torchcaps.bench.evidence import At

VALIDATION = "validation"
"""The number of a row that gates are about: its accuracy on validation images when it was judged."""


@dataclass(frozen=True)
class Gate:
    """That a weighted sum of numbers, each the mean over the seeds of a look, is not beyond a value.

    Args:
        told: the gate in a few words.
        terms: places and weights; a place whose row has seeds of its own counts with all of them.
    """

    told: str
    terms: tuple[tuple[At, float], ...]
    relation: Literal["<=", ">="]
    value: float

    def passes(self, total: float) -> bool:
        """Whether the sum is not beyond the value."""
        return total <= self.value if self.relation == "<=" else total >= self.value


def reached(rows: Sequence[str], level: float, on: str = VALIDATION, tolerance: float = 0.001) -> tuple[Gate, ...]:
    """Each row has reached an accuracy, but for a tolerance.

    >>> [gate.told for gate in reached(["a", "b"], 0.98)]
    ['a reached 0.98 (validation)', 'b reached 0.98 (validation)']
    """
    return tuple(
        Gate(f"{row} reached {level:g} ({on})", ((At(row, on), 1.0),), ">=", level - tolerance) for row in rows
    )


def is_flat(once: str | At, doubled: str | At, within: float = 0.003, on: str = VALIDATION) -> Gate:
    """A row has finished learning: one that learns twice as long is better by no more than this.

    >>> is_flat("a", "a_doubled").told
    'a_doubled − a at most 0.003 (validation)'
    """
    first, second = (place if isinstance(place, At) else At(place, on) for place in (once, doubled))
    named = f" ({on})" if first.on == second.on == on else ""
    told = f"{second.row if named else second} − {first.row if named else first} at most {within:g}{named}"
    return Gate(told, ((second, 1.0), (first, -1.0)), "<=", within)


def is_trained(row: str, least: float, on: str = VALIDATION) -> Gate:
    """A row has learned at least so much.

    >>> is_trained("a", 0.5).told
    'a has at least 0.5 (validation)'
    """
    return Gate(f"{row} has at least {least:g} ({on})", ((At(row, on), 1.0),), ">=", least)
