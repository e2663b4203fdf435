"""The rule by which stored numbers become verdicts. It was committed before the results and does not know them.

Rows are judged on the same M test images, seed by seed. Of S seeds a statement's number is d_s; its standard error is
se² = var(d_s)/S + max(v, 1/M)/M, where var has S − 1 below it and v is the variance over images of the seeds' mean; its
interval is that of t with S − 1 degrees of freedom. Numbers that are no shares of images have the first term only.

- above a value (greater: the difference of two rows above 0; at least: above −margin; rises: the slope above 0):
  reproduced if the 95 % interval lies above, refuted if it lies below; below a value the other way round.
- inside a margin (alike): reproduced if the 90 % interval lies inside, refuted if the 95 % interval lies outside.
- all of k: reproduced if all are, refuted if one is at level 0.05/k; one of k: the other way round.
- undecided in any case: compared rows all above 99.5 % or all at chance; a row that did not reach the accuracy at which
  rows are compared; a control that does not hold (the first of them, or another that the scale has not cut); fewer than
  two seeds.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from torchcaps.bench.claims import Claim, Counted, Shown, Statement, Together, chance_limit
from torchcaps.bench.evidence import At, Evidence
from torchcaps.bench.sample import LEVEL, Sample, all_places, image_counts, places_of, sample_of, single

Word = Literal["reproduced", "refuted", "undecided", "not run", "shown"]
CEILING, MOST_SEEDS = 0.995, 100
CUT = "cut at this scale"


@dataclass(frozen=True)
class Verdict:
    """What became of a claim.

    Args:
        told: the claim in a few words.
        reason: why, in a sentence.
        needs: of an undecided one, what it would take.
        estimate, interval: the number the claim is about, with its 95 % interval; None where there is none.
        members: the verdicts of a claim that has parts.
    """

    word: Word
    told: str
    reason: str
    needs: str = ""
    estimate: float | int | None = None
    interval: tuple[float, float] | None = None
    seeds: int = 0
    members: tuple["Verdict", ...] = ()


def judge(claim: Claim, evidence: Evidence, *, prove: float = LEVEL, refute: float = LEVEL) -> Verdict:
    """The verdict on a claim.

    >>> from torchcaps.bench.claims import above
    >>> from torchcaps.bench.evidence import Number
    >>> found = Evidence({At("a", "x"): {seed: Number(0.9 + 0.01 * seed) for seed in range(3)}})
    >>> judge(above("a", 0.5, on="x"), found).word
    'reproduced'

    Args:
        prove, refute: the levels at which it is called reproduced or refuted; parts of a claim have stricter ones.
    """
    match claim:
        case Shown():
            there = all(any(at.row == row for at in evidence.numbers) for row in claim.rows)
            return Verdict("shown", claim.told, "a picture") if there else _not_run(claim.told, claim.rows, evidence)
        case Counted():
            return _counted(claim, evidence)
        case Together():
            return _together(claim, evidence, prove=prove, refute=refute)
        case Statement():
            return _statement(claim, evidence, prove=prove, refute=refute)


def is_deterministic(claim: Claim) -> bool:
    """Whether nothing random enters a claim; such claims are counted apart.

    >>> from torchcaps.bench.claims import greater
    >>> is_deterministic(greater("a", "b", "clean"))
    False
    """
    if isinstance(claim, Together):
        return all(is_deterministic(member) for member in claim.members)
    return isinstance(claim, Counted)


def _statement(claim: Statement, evidence: Evidence, *, prove: float, refute: float) -> Verdict:
    places = places_of(claim, evidence)
    if places is None or any(not evidence[place] for place in places):
        return _not_run(claim.told, [at.row for at in all_places(claim)], evidence, cut=places is None)
    seeds = evidence.seeds(places)
    if any(evidence[place][seed].value is None for place in places for seed in seeds):
        return Verdict("undecided", claim.told, "the number is not defined in every seed", seeds=len(seeds))
    if len(image_counts(places, evidence, seeds)) > 1:
        return Verdict("undecided", claim.told, "the rows were judged on different images", "the same images for all")
    sample = sample_of(claim, places, evidence, seeds)
    if len(seeds) < 2:
        one = f"only {len(seeds)} seed" + "s" * (not seeds)
        return Verdict("undecided", claim.told, one, "at least two seeds", sample.mean if seeds else None, None, 1)
    told = (claim.told, sample.mean, sample.interval(), len(seeds))
    if (why := _undecidable(claim, places, evidence, seeds)) is not None:
        return _verdict("undecided", *told, reason=why[0], needs=why[1])
    if _holds(claim, sample, 2 * prove if claim.side == "inside" else prove):
        return _verdict("reproduced", *told, reason=_reason(sample))
    if _fails(claim, sample, refute):
        return _verdict("refuted", *told, reason=_reason(sample))
    return _verdict("undecided", *told, reason=_reason(sample), needs=_needs(claim, sample))


def _verdict(
    word: Word,
    told: str,
    estimate: float | int,
    interval: tuple[float, float],
    seeds: int,
    *,
    reason: str,
    needs: str = "",
) -> Verdict:
    return Verdict(word, told, reason, needs, estimate, interval, seeds)


def _holds(claim: Statement, sample: Sample, level: float) -> bool:
    low, high = sample.interval(level)
    match claim.side:
        case "above":
            return low > claim.value
        case "below":
            return high < claim.value
        case "inside":
            return claim.value - claim.margin < low and high < claim.value + claim.margin


def _fails(claim: Statement, sample: Sample, level: float) -> bool:
    low, high = sample.interval(level)
    match claim.side:
        case "above":
            return high < claim.value
        case "below":
            return low > claim.value
        case "inside":
            return high < claim.value - claim.margin or low > claim.value + claim.margin


def _undecidable(
    claim: Statement, places: Sequence[At], evidence: Evidence, seeds: Sequence[int]
) -> tuple[str, str] | None:
    """Why a statement is undecided whatever its interval, and what it would take; None if it is not."""
    rows = dict.fromkeys(place.row for place in places)
    if short := [row for row in rows if evidence.missed.get(row)]:
        return f"{', '.join(short)} did not reach the accuracy at which rows are compared", "longer training"
    controls = [judge(control, evidence) for control in claim.controls]
    for found in controls:
        if found.word != "reproduced" and (found.reason != CUT or found is controls[0]):
            return f"its control does not hold: {found.told}", "a longer training, or another control"
    accuracies = [single(place, evidence, seeds) for place in places]
    answers = [next(iter(evidence[place].values())).answers for place in places]
    if len(places) < 2 or not all(answers):
        return None
    if all(accuracy.mean > CEILING for accuracy in accuracies):
        return "all rows are above 99.5 %", "harder images or shorter training"
    if all(a.interval()[1] < chance_limit(n) for a, n in zip(accuracies, answers, strict=True)):
        return "all rows are at chance", "a longer training"
    return None


def _counted(claim: Counted, evidence: Evidence) -> Verdict:
    places = [claim.a, *([claim.value] if isinstance(claim.value, At) else [])]
    if any(place.row in evidence.cut or not evidence[place] for place in places):
        cut = any(place.row in evidence.cut for place in places)
        return _not_run(claim.told, [place.row for place in places], evidence, cut=cut)
    seeds = evidence.seeds(places)
    found = [evidence[claim.a][seed].value for seed in seeds]
    wanted = [evidence[claim.value][s].value if isinstance(claim.value, At) else claim.value for s in seeds]
    right = all(a is not None and b is not None and _agrees(claim, a, b) for a, b in zip(found, wanted, strict=True))
    known = [value for value in found if value is not None]
    estimate = known[0] if len(set(known)) == 1 else None
    reason = f"found {', '.join(dict.fromkeys('undefined' if v is None else f'{v:,.6g}' for v in found))}"
    return Verdict("reproduced" if right and seeds else "refuted", claim.told, reason, "", estimate, None, len(seeds))


def _agrees(claim: Counted, a: float | int, b: float | int) -> bool:
    room = claim.tolerance * (abs(b) or 1.0)
    match claim.relation:
        case "==":
            return abs(a - b) <= room
        case "<=":
            return a <= b + room
        case ">=":
            return a >= b - room


def _together(claim: Together, evidence: Evidence, *, prove: float, refute: float) -> Verdict:
    parts = list(_flat(claim))
    kept = [part for part in parts if judge(part, evidence).reason != CUT]
    if not kept:
        return Verdict("not run", claim.told, CUT)
    k = len(kept)
    share = {"prove": prove, "refute": refute / k} if claim.all else {"prove": prove / k, "refute": refute}
    members = tuple(judge(part, evidence, **share) for part in kept)
    words = [member.word for member in members]
    least: tuple[Word, ...] = ("refuted", "not run", "undecided", "reproduced")
    most: tuple[Word, ...] = ("reproduced", "not run", "undecided", "refuted")
    word = next(word for word in (least if claim.all else most) if word in words)
    counts = ", ".join(f"{words.count(w)} {w}" for w in least if w in words)
    left_out = f"; {len(parts) - k} {CUT}" if k < len(parts) else ""
    deciding = [member for member in members if member.word == word]
    needs = next((member.needs for member in deciding if member.needs), "") if word == "undecided" else ""
    seeds = min(member.seeds for member in members)
    return Verdict(
        word, claim.told, f"of {k} part{'s' * (k > 1)}: {counts}{left_out}", needs, seeds=seeds, members=members
    )


def _flat(claim: Together) -> Iterator[Claim]:
    """The parts, with those of parts of the same kind in their place."""
    for member in claim.members:
        if isinstance(member, Together) and member.all == claim.all:
            yield from _flat(member)
        else:
            yield member


def _not_run(told: str, rows: Sequence[str], evidence: Evidence, *, cut: bool = False) -> Verdict:
    if cut:
        return Verdict("not run", told, CUT)
    why = {row: evidence.absent.get(row, "no result yet") for row in rows if row in evidence.absent}
    return Verdict("not run", told, "; ".join(f"{row}: {reason}" for row, reason in why.items()) or "no result yet")


def _reason(sample: Sample) -> str:
    low, high = sample.interval()
    return f"{sample.mean:.4g}, 95 % interval {low:.4g} to {high:.4g}, {len(sample.values)} seeds"


def _needs(claim: Statement, sample: Sample) -> str:
    """How many seeds would decide it if they varied as these do, or that more images are needed."""
    edges = [claim.value] if claim.side != "inside" else [claim.value - claim.margin, claim.value + claim.margin]
    gap = min(abs(sample.mean - edge) for edge in edges)
    for seeds in range(len(sample.values) + 1, MOST_SEEDS + 1):
        if sample.reach(LEVEL, seeds) < gap:
            return f"about {seeds} seeds, if they vary as these do"
    if sample.over_images and math.sqrt(sample.over_images) * 2 > gap > 0:
        return "more test images, and more seeds"
    return f"more than {MOST_SEEDS} seeds: the number is too near the line"
