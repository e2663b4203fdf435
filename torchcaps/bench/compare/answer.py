"""Which network for these images, and how surely: sentences from the same rule that judges the papers' claims.

All pairs of networks are looked at and the best is chosen after the results, so that each pair is held to a level of
0.05 over the number of pairs: that any of the differences called sure is none happens in one contest of twenty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from torchcaps.bench.claims import greater
from torchcaps.bench.compare.contest import Contest, Entrant
from torchcaps.bench.evidence import At, Evidence
from torchcaps.bench.sample import LEVEL, sample_of
from torchcaps.bench.verdict import judge_once

AGREES = "reproduced"


@dataclass(frozen=True)
class Difference:
    """Two networks on a test, the better one first.

    Args:
        points: by how much it is better, in percent of the images.
        interval: of that, at the level at which pairs are judged; None with a single seed.
        sure: whether it is more than chance.
        why: if not, why not, and what it would take.
    """

    test: str
    better: str
    worse: str
    points: float
    interval: tuple[float, float] | None
    sure: bool
    why: str = ""

    @property
    def told(self) -> str:
        """The difference in words."""
        if self.interval is None:
            return f"{self.points:.1f} points"
        low, high = self.interval
        return f"{self.points:.1f} points, {low:.1f} to {high:.1f}"


def differences(contest: Contest, evidence: Evidence) -> list[Difference]:
    """Of all pairs on every test, the best networks first."""
    found = []
    for test in contest.tests:
        ranked = sorted(contest.entrants, key=lambda entrant: -_mean(entrant, test, evidence))
        pairs = list(combinations(ranked, 2))
        found += [_difference(test, *pair, evidence, LEVEL / len(pairs)) for pair in pairs]
    return found


def answer(contest: Contest, evidence: Evidence) -> list[str]:
    """Which routing, and whether it is better than a ConvNet, by the first of the tests."""
    test = next(iter(contest.tests))
    pairs = {(d.better, d.worse): d for d in differences(contest, evidence) if d.test == test}
    capsules, plain = ([e for e in contest.entrants if e.capsules is kind] for kind in (True, False))
    ranked = [sorted(group, key=lambda e: -_mean(e, test, evidence)) for group in (capsules, plain)]
    best = (ranked[0] or ranked[1])[0]
    share = 100 * _mean(best, test, evidence)
    name = best.name[:1].upper() + best.name[1:]
    said = [f"{name} names {share:.1f} % of the {test} test images right" + (
        ", the most of the capsule networks." if len(capsules) > 1 else ".")]  # fmt: skip
    if len(capsules) > 1:
        said.append(_among(best, ranked[0][1:], pairs))
    if capsules and plain:
        said.append(_against(best, ranked[1][0], pairs))
    if contest.seeds < 2:
        said.append("With one seed nothing is sure: another training could turn the order round.")
    return said


def _among(best: Entrant, others: Sequence[Entrant], pairs: dict[tuple[str, str], Difference]) -> str:
    unsure = [pairs[best.name, other.name] for other in others if not pairs[best.name, other.name].sure]
    if not unsure:
        nearest = pairs[best.name, others[0].name]
        return f"It is ahead of every other routing, surely (of {nearest.worse} by {nearest.told})."
    names = ", ".join(difference.worse for difference in unsure)
    return f"That it is ahead of {names} is not sure (by {unsure[0].told}): {unsure[0].why}."


def _against(best: Entrant, plain: Entrant, pairs: dict[tuple[str, str], Difference]) -> str:
    found = pairs.get((best.name, plain.name)) or pairs[plain.name, best.name]
    if found.sure and found.better == best.name:
        return f"It is better than {plain.name}, surely (by {found.told})."
    if found.sure:
        return f"It is worse than {plain.name}, surely (by {found.told}): take {plain.name}."
    ahead = "ahead of" if found.better == best.name else "behind"
    return f"Whether it is better than {plain.name} is not sure (it is {ahead} it by {found.told}): {found.why}."


def _difference(test: str, a: Entrant, b: Entrant, evidence: Evidence, level: float) -> Difference:
    claim = greater(a.id, b.id, test)
    places = [At(a.id, test), At(b.id, test)]
    verdict = judge_once(claim, evidence, level)
    sample = sample_of(claim, places, evidence, evidence.seeds(places))
    low, high = (min(100.0, max(-100.0, 100 * end)) for end in sample.interval(level))
    interval = (low, high) if len(sample.values) > 1 else None
    within = interval is not None and low <= 0 <= high
    why = "it could be chance" if within or interval is None else verdict.reason
    about = "about {}, if they vary as these do" if verdict.needs[:1].isdigit() else "{}"
    needs = f"; it would take {about.format(verdict.needs)}" if verdict.needs else ""
    sure = verdict.word == AGREES
    return Difference(test, a.name, b.name, 100 * sample.mean, interval, sure, "" if sure else why + needs)


def _mean(entrant: Entrant, test: str, evidence: Evidence) -> float:
    values = [float(number.value or 0.0) for number in evidence[At(entrant.id, test)].values()]
    return sum(values) / len(values)
