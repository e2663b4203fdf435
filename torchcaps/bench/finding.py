"""What a set of seeds says of a claim: p-values for it and against it, or why its rows cannot be compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from torchcaps.bench import proof
from torchcaps.bench.claims import Claim, Counted, Shown, Statement, Together, chance_limit
from torchcaps.bench.evidence import At, Evidence
from torchcaps.bench.gates import Gate
from torchcaps.bench.sample import Sample, all_places, image_counts, places_of, sample_of, single

CEILING = 0.995
CUT = "cut at this scale"


@dataclass(frozen=True)
class Finding:
    """What was found of a claim, before any level decides.

    Args:
        shown, refuted: the levels above which it is reproduced, or refuted; 1 where nothing can be said.
        otherwise: what it is if neither is below its level.
        why, needs: why that, and what it would take.
        estimate: of what is counted, if all seeds agree.
        sample: the number of a statement.
        members: of a claim of parts, those that the scale has not cut, of which there were `parts`.
    """

    claim: Claim
    shown: float = 1.0
    refuted: float = 1.0
    otherwise: Literal["undecided", "not comparable", "not run", "shown"] = "undecided"
    why: str = ""
    needs: str = ""
    estimate: float | int | None = None
    sample: Sample | None = None
    members: tuple["Finding", ...] = ()
    parts: int = 0


def find(claim: Claim, evidence: Evidence, *, look: bool = True) -> Finding:
    """What the evidence says of a claim.

    Args:
        look: whether it has the seeds of a look; if not, nothing is said but by what is counted.
    """
    match claim:
        case Shown():
            there = all(any(at.row == row for at in evidence.numbers) for row in claim.rows)
            if not there:
                return _not_run(claim, claim.rows, evidence)
            return Finding(claim, otherwise="shown", why="a picture")
        case Counted():
            return _counted(claim, evidence)
        case Together():
            return _together(claim, evidence, look=look)
        case Statement():
            return _statement(claim, evidence, look=look)


def _statement(claim: Statement, evidence: Evidence, *, look: bool) -> Finding:
    places = places_of(claim, evidence)
    if places is None or any(not evidence[place] for place in places):
        return _not_run(claim, [at.row for at in all_places(claim)], evidence, cut=places is None)
    seeds = evidence.seeds(places)
    if any(evidence[place][seed].value is None for place in places for seed in seeds):
        return Finding(claim, why="the number is not defined in every seed")
    if (found := _obstacle(claim, places, evidence, seeds)) is not None:
        why, needs = found
        return Finding(claim, otherwise="not comparable", why=why, needs=needs)
    sample = sample_of(claim, places, evidence, seeds)
    if not look or len(seeds) < 2:
        return Finding(claim, sample=sample)
    found_here = sample.estimate()
    shown, refuted = float(proof.shown(claim, found_here)), float(proof.refuted(claim, found_here))
    return Finding(claim, shown, refuted, sample=sample)


def _obstacle(
    claim: Statement, places: Sequence[At], evidence: Evidence, seeds: Sequence[int]
) -> tuple[str, str] | None:
    """Why the rows of a statement cannot be compared, and what it would take; None if they can."""
    if len(image_counts(places, evidence, seeds)) > 1:
        return "the rows were judged on different images", "the same images for all"
    rows = dict.fromkeys(place.row for place in places)
    if short := [row for row in rows if evidence.missed.get(row)]:
        return f"{', '.join(short)} did not reach the accuracy at which rows are compared", "longer training"
    for gate in claim.gates:
        if (why := _not_passed(gate, evidence)) is not None:
            return f"a gate is not passed: {why}", "longer training, or what the gate measures"
    controls = [(control, find(control, evidence)) for control in claim.controls]
    for control, found in controls:
        if not holds(found) and (found.why != CUT or control is controls[0][0]):
            return f"its control does not hold: {control.told}", "a longer training, or another control"
    return _all_alike(places, evidence, seeds) if seeds else None


def holds(found: Finding, level: float = 0.05) -> bool:
    """Whether a control is reproduced."""
    return found.shown < level


def _not_passed(gate: Gate, evidence: Evidence) -> str | None:
    total = 0.0
    for place, weight in gate.terms:
        numbers = evidence[place]
        values = [number.value for number in numbers.values()]
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values) or not set(evidence.own.get(place.row, ())) <= set(numbers):
            return f"{gate.told}: {place} not measured"
        total += weight * sum(known) / len(known)
    return None if gate.passes(total) else f"{gate.told}: found {total:.4g}"


def _all_alike(places: Sequence[At], evidence: Evidence, seeds: Sequence[int]) -> tuple[str, str] | None:
    """Accuracies between which no difference can show: all near 100 %, or all chance."""
    answers = [next(iter(evidence[place].values())).answers for place in places]
    if len(places) < 2 or not all(answers):
        return None
    accuracies = [single(place, evidence, seeds) for place in places]
    if all(accuracy.mean > CEILING for accuracy in accuracies):
        return "all rows are above 99.5 %", "harder images or shorter training"
    if all(a.interval()[1] < chance_limit(n) for a, n in zip(accuracies, answers, strict=True)):
        return "all rows are at chance", "a longer training"
    return None


def _counted(claim: Counted, evidence: Evidence) -> Finding:
    places = [claim.a, *([claim.value] if isinstance(claim.value, At) else [])]
    if any(place.row in evidence.cut or not evidence[place] for place in places):
        cut = any(place.row in evidence.cut for place in places)
        return _not_run(claim, [place.row for place in places], evidence, cut=cut)
    seeds = evidence.seeds(places)
    found = [evidence[claim.a][seed].value for seed in seeds]
    wanted = [evidence[claim.value][s].value if isinstance(claim.value, At) else claim.value for s in seeds]
    right = all(a is not None and b is not None and _agrees(claim, a, b) for a, b in zip(found, wanted, strict=True))
    known = [value for value in found if value is not None]
    estimate = known[0] if len(set(known)) == 1 else None
    why = f"found {', '.join(dict.fromkeys('undefined' if v is None else f'{v:,.6g}' for v in found))}"
    shown, refuted = (0.0, 1.0) if right and seeds else (1.0, 0.0)
    return Finding(claim, shown, refuted, why=why, estimate=estimate)


def _agrees(claim: Counted, a: float | int, b: float | int) -> bool:
    room = claim.tolerance * (abs(b) or 1.0)
    match claim.relation:
        case "==":
            return abs(a - b) <= room
        case "<=":
            return a <= b + room
        case ">=":
            return a >= b - room


def _together(claim: Together, evidence: Evidence, *, look: bool) -> Finding:
    """All of k are shown if each is, refuted if the strongest refutation is below a k-th of the level; or reversed."""
    found = [find(part, evidence, look=look) for part in flat(claim)]
    kept = tuple(one for one in found if one.why != CUT)
    if not kept:
        return Finding(claim, otherwise="not run", why=CUT)
    shown, refuted = [one.shown for one in kept], [one.refuted for one in kept]
    if claim.all:
        return Finding(claim, max(shown), min(1.0, len(kept) * min(refuted)), members=kept, parts=len(found))
    return Finding(claim, min(1.0, len(kept) * min(shown)), max(refuted), members=kept, parts=len(found))


def flat(claim: Together) -> Iterator[Claim]:
    """The parts, with those of parts of the same kind in their place."""
    for member in claim.members:
        if isinstance(member, Together) and member.all == claim.all:
            yield from flat(member)
        else:
            yield member


def _not_run(claim: Claim, rows: Sequence[str], evidence: Evidence, *, cut: bool = False) -> Finding:
    if cut:
        return Finding(claim, otherwise="not run", why=CUT)
    why = {row: evidence.absent[row] for row in rows if row in evidence.absent}
    told = "; ".join(f"{row}: {reason}" for row, reason in why.items()) or "no result yet"
    return Finding(claim, otherwise="not run", why=told)
