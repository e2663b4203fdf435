"""The kinds of claims: what a paper says of its table, as data that `verdict.judge` can put to the test.

A claim speaks of places (`At`): the row of a table and the name of a number. Most are statements about one sum of such
numbers: the number of a row, the difference of two rows, the slope over several.

>>> greater("convnet_avg", "capsnet", on="affine").told
'convnet_avg > capsnet (affine)'
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from torchcaps.bench.evidence import At
from torchcaps.bench.gates import Gate

Side = Literal["above", "below", "inside"]
Relation = Literal["==", "<=", ">="]
Real = float | int
Place = str | At | Sequence[At]
"""A row, whose number is named beside it; a place; or several places, whose mean is meant."""


@dataclass(frozen=True)
class Sum:
    """A weighted sum of numbers, seed by seed; of several that make a mean, those cut by the scale drop out."""

    terms: tuple[tuple[At, float], ...]


@dataclass(frozen=True)
class Slope:
    """The least-squares slope of numbers over the ranks of their rows, seed by seed; rows cut by the scale drop out."""

    rows: tuple[At, ...]


@dataclass(frozen=True)
class Spread:
    """How far `a` strays from its own mean over the seeds, less than `b` from its own: Σ|b − b̄| − |a − ā|."""

    a: tuple[At, ...]
    b: tuple[At, ...]


@dataclass(frozen=True)
class Statement:
    """That a number lies above or below a value, or inside value ± margin.

    Args:
        told: the statement in a few words.
        controls: claims that must be reproduced for the statement to mean anything; else it is not comparable.
        smallest: the smallest effect of interest: how far beyond the value the number must be estimated.
        gates: what means over seeds must have reached, likewise.
    """

    what: Sum | Slope | Spread
    side: Side
    told: str
    value: Real = 0.0
    margin: Real = 0.0
    controls: tuple["Claim", ...] = ()
    smallest: Real = 0.0
    gates: tuple[Gate, ...] = ()


@dataclass(frozen=True)
class Counted:
    """That a number which nothing random enters equals another, or does not exceed it, in every seed.

    Args:
        tolerance: how much `a` may be beyond the value, as a share of it (of 1, if it is 0).
    """

    a: At
    relation: Relation
    value: Real | At
    told: str
    tolerance: Real = 0.0


@dataclass(frozen=True)
class Together:
    """Several claims as one: all of them, or at least one."""

    members: tuple["Claim", ...]
    all: bool = True

    @property
    def told(self) -> str:
        """The members in a row."""
        return (" and " if self.all else " or ").join(member.told for member in self.members)


@dataclass(frozen=True)
class Shown:
    """A picture: it is there to be looked at."""

    rows: tuple[str, ...]
    told: str = "shown"


Claim = Statement | Counted | Together | Shown


def greater(a: Place, b: Place, on: str = "", *, smallest: Real = 0.0) -> Statement:
    """Row `a` has more than row `b`; with `smallest`, by so much at least.

    >>> greater("aff_capsnet", "capsnet", "affine").told
    'aff_capsnet > capsnet (affine)'
    >>> greater("aff_capsnet", "capsnet", "affine", smallest=0.01).told
    'aff_capsnet > capsnet (affine) by 0.01'
    """
    told = f"{_name(a)} > {_name(b)}{_on(on)}{_by(smallest)}"
    return Statement(_difference(a, b, on), "above", told, smallest=smallest)


def at_least(a: Place, b: Place, on: str = "", *, margin: Real) -> Statement:
    """Row `a` has no less than row `b`, but for a margin.

    >>> at_least("a", "b", "clean", margin=0.01).told
    'a ≥ b − 0.01 (clean)'
    """
    told = f"{_name(a)} ≥ {_name(b)} − {margin:g}{_on(on)}"
    return Statement(_difference(a, b, on), "above", told, value=-margin)


def alike(a: Place, b: Place, on: str = "", *, margin: Real) -> Statement:
    """Rows `a` and `b` differ by less than a margin.

    >>> alike("a", "b", "clean", margin=0.02).told
    'a ≈ b ± 0.02 (clean)'
    """
    told = f"{_name(a)} ≈ {_name(b)} ± {margin:g}{_on(on)}"
    return Statement(_difference(a, b, on), "inside", told, margin=margin)


def above(row: Place, value: Real, on: str = "", *, smallest: Real = 0.0) -> Statement:
    """A row's number is more than a value.

    >>> above("a", 0.99, "clean").told
    'a > 0.99 (clean)'
    """
    told = f"{_name(row)} > {value:g}{_on(on)}{_by(smallest)}"
    return Statement(Sum(_terms(row, on, 1.0)), "above", told, value=value, smallest=smallest)


def below(
    row: Place, value: Real, on: str = "", *, controls: Sequence["Claim"] = (), smallest: Real = 0.0
) -> Statement:
    """A row's number is less than a value.

    >>> below("a", 0.1, "clean").told
    'a < 0.1 (clean)'
    """
    told = f"{_name(row)} < {value:g}{_on(on)}{_by(smallest)}"
    what = Sum(_terms(row, on, 1.0))
    return Statement(what, "below", told, value=value, controls=tuple(controls), smallest=smallest)


def near(row: Place, value: Real, on: str = "", *, margin: Real) -> Statement:
    """A row's number is a value, within a margin.

    >>> near("a", 0.5, "clean", margin=0.02).told
    'a ≈ 0.5 ± 0.02 (clean)'
    """
    told = f"{_name(row)} ≈ {value:g} ± {margin:g}{_on(on)}"
    return Statement(Sum(_terms(row, on, 1.0)), "inside", told, value=value, margin=margin)


def rises(rows: Sequence[str | At], on: str = "", *, smallest: Real = 0.0) -> Statement:
    """The numbers of the rows rise in their order.

    >>> rises(["size_3", "size_5", "size_7"], "affine").told
    'size_3 … size_7 rises (affine)'
    """
    return Statement(_slope(rows, on), "above", f"{_span(rows)} rises{_on(on)}{_by(smallest)}", smallest=smallest)


def falls(rows: Sequence[str | At], on: str = "", *, smallest: Real = 0.0) -> Statement:
    """The numbers of the rows fall in their order.

    >>> falls(["size_3", "size_5", "size_7"], "affine").told
    'size_3 … size_7 falls (affine)'
    """
    return Statement(_slope(rows, on), "below", f"{_span(rows)} falls{_on(on)}{_by(smallest)}", smallest=smallest)


def flat(rows: Sequence[str | At], on: str = "", *, margin: Real) -> Statement:
    """From row to row the numbers change by less than a margin.

    >>> flat(["a", "b", "c"], "affine", margin=0.01).told
    'a … c flat ± 0.01 (affine)'
    """
    return Statement(_slope(rows, on), "inside", f"{_span(rows)} flat ± {margin:g}{_on(on)}", margin=margin)


def not_rising(rows: Sequence[str | At], on: str = "", *, margin: Real) -> Statement:
    """From row to row the numbers rise by less than a margin, if at all.

    >>> not_rising(["a", "b", "c"], "affine", margin=0.01).told
    'a … c does not rise (affine)'
    """
    return Statement(_slope(rows, on), "below", f"{_span(rows)} does not rise{_on(on)}", value=margin)


def steadier(a: Sequence[At], b: Sequence[At], *, smallest: Real = 0.0) -> Statement:
    """The numbers at `a` vary less over the seeds than those at `b`.

    >>> steadier([At("a", "clean")], [At("b", "clean")]).side
    'above'
    """
    told = f"{_span(a)} varies less than {_span(b)}{_by(smallest)}"
    return Statement(Spread(tuple(a), tuple(b)), "above", told, smallest=smallest)


def peak(row: str, others: Sequence[str], on: str, *, smallest: Real = 0.0) -> Together:
    """A row has more than each of the others.

    >>> [part.told for part in peak("a", ["b", "c"], "clean").members]
    ['a > b (clean)', 'a > c (clean)']
    """
    return every(*(greater(row, other, on, smallest=smallest) for other in others))


def ordered(rows: Sequence[str | At], on: str = "", *, smallest: Real = 0.0) -> Together:
    """Each row has more than the next.

    >>> [part.told for part in ordered(["a", "b", "c"], "clean").members]
    ['a > b (clean)', 'b > c (clean)']
    """
    return every(*(greater(a, b, on, smallest=smallest) for a, b in pairwise(rows)))


def every(*claims: Claim) -> Together:
    """All of them hold.

    >>> every(greater("a", "b"), greater("a", "c")).all
    True
    """
    return Together(claims)


def some(*claims: Claim) -> Together:
    """At least one of them holds.

    >>> some(greater("a", "b"), greater("a", "c")).all
    False
    """
    return Together(claims, all=False)


def gated(claim: "Claim", *gates: Gate) -> "Claim":
    """The claim with these gates before each of its statements.

    >>> from torchcaps.bench.gates import is_trained
    >>> [len(part.gates) for part in gated(peak("a", ["b", "c"], "clean"), is_trained("a", 0.5)).members]
    [1, 1]
    """
    match claim:
        case Together():
            return replace(claim, members=tuple(gated(member, *gates) for member in claim.members))
        case Statement():
            return replace(claim, gates=(*claim.gates, *gates))
    return claim


def counted(a: At, relation: Relation, value: Real | At, *, tolerance: Real = 0.0) -> Counted:
    """Nothing random enters the number: it is compared as it is.

    >>> counted(At("a", "parameters"), "<=", 1000).relation
    '<='
    """
    told = f"{a} {relation} {value if isinstance(value, At) else f'{value:,g}'}"
    return Counted(a, relation, value, told, tolerance)


def chance_limit(answers: int) -> float:
    """Up to where an accuracy counts as chance: twice the share of a class, and 0.55 for two classes.

    >>> chance_limit(10), chance_limit(2)
    (0.2, 0.55)
    """
    return 0.55 if answers == 2 else 2 / answers


def at_chance(row: str, on: str = "accuracy", *, answers: int = 10, started: Sequence[str] = ()) -> Statement:
    """A row does no better than chance, though others could learn.

    >>> at_chance("a", answers=2, started=["b"]).side
    'below'

    Args:
        started: rows that must have started to learn within half the steps, in every seed: the biased twin, and those
            without a bias that train, of which a scale may cut some. Their number "onset" is the share of the steps
            done by then.
    """
    controls = [counted(At(other, "onset"), "<=", 0.5) for other in started]
    return replace(below(row, chance_limit(answers), on, controls=controls), told=f"{row} at chance{_on(on)}")


def trains(row: str, on: str = "accuracy") -> Statement:
    """A row is right more often than not.

    >>> trains("a").told
    'a trains (accuracy)'
    """
    return replace(above(row, 0.5, on), told=f"{row} trains{_on(on)}")


def _terms(place: Place, on: str, weight: float) -> tuple[tuple[At, float], ...]:
    if isinstance(place, str):
        return ((At(place, on), weight),)
    if isinstance(place, At):
        return ((place, weight),)
    return tuple((at, weight / len(place)) for at in place)


def _difference(a: Place, b: Place, on: str) -> Sum:
    return Sum((*_terms(a, on, 1.0), *_terms(b, on, -1.0)))


def _slope(rows: Sequence[str | At], on: str) -> Slope:
    return Slope(tuple(row if isinstance(row, At) else At(row, on) for row in rows))


def _name(place: Place) -> str:
    return str(place) if isinstance(place, str | At) else f"mean of {_span(place)}"


def _span(rows: Sequence[str | At]) -> str:
    return f"{rows[0]} … {rows[-1]}" if len(rows) > 2 else ", ".join(map(str, rows))


def _on(on: str) -> str:
    return f" ({on})" if on else ""


def _by(smallest: Real) -> str:
    return f" by {smallest:g}" if smallest else ""
