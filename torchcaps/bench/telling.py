"""From what a look found to a verdict: its word by the levels of the look, and its figures by all seeds there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from torchcaps.bench import proof
from torchcaps.bench.claims import Counted, Statement, Together
from torchcaps.bench.evidence import At, Evidence
from torchcaps.bench.finding import CUT, Finding
from torchcaps.bench.sample import Sample, image_counts, places_of, sample_of

Word = Literal["reproduced", "refuted", "not comparable", "undecided", "not run", "shown"]


DECIDED = ("reproduced", "refuted")
LEAST: tuple[Word, ...] = ("refuted", "not run", "not comparable", "undecided", "reproduced")
MOST: tuple[Word, ...] = ("reproduced", "not run", "not comparable", "undecided", "refuted")
"""Of the words of its parts, a claim of all takes the first; so does a claim of one."""
IMAGES = ", and more test images"


class Look(NamedTuple):
    """At how many seeds a claim is looked at, and at which level."""

    seeds: int
    level: float


@dataclass(frozen=True)
class Verdict:
    """What became of a claim.

    Args:
        told: the claim in a few words.
        reason: why, in a sentence.
        needs: of one that is not decided, what it would take.
        estimate, interval: the number the claim is about, of all seeds, with its 95 % interval; None if there is none.
        seeds: how many seeds all its rows have.
        members: the verdicts of a claim that has parts.
        look: at how many seeds it was decided; 0 if by no look.
    """

    word: Word
    told: str
    reason: str
    needs: str = ""
    estimate: float | int | None = None
    interval: tuple[float, float] | None = None
    seeds: int = 0
    members: tuple["Verdict", ...] = ()
    look: int = 0


class Teller(NamedTuple):
    """Turns what a look found into words, and shows it with all seeds.

    Args:
        evidence: of all seeds.
        looks: all that the rule has, for what it would take.
    """

    evidence: Evidence
    look: Look
    looks: Sequence[Look]

    def told(self, found: Finding, prove: float | None = None, refute: float | None = None) -> Verdict:
        """The verdict at these levels; at the look's if none are given."""
        prove, refute = prove or self.look.level, refute or self.look.level
        if isinstance(found.claim, Together) and found.members:
            return self._together(found.claim, found, prove, refute)
        word: Word = found.otherwise
        word = "reproduced" if found.shown < prove else "refuted" if found.refuted < refute else word
        if isinstance(found.claim, Statement):
            return self._statement(found.claim, found, word, prove, refute)
        seeds = len(self.evidence.seeds([found.claim.a])) if isinstance(found.claim, Counted) else 0
        return Verdict(word, found.claim.told, found.why, estimate=found.estimate, seeds=seeds)

    def _statement(self, claim: Statement, found: Finding, word: Word, prove: float, refute: float) -> Verdict:
        if found.otherwise == "not run":
            return Verdict(word, claim.told, found.why)
        places = places_of(claim, self.evidence) or ()
        seeds = self.evidence.seeds(places)
        sample = self._sample(claim, places, seeds) or found.sample
        estimate = sample.mean if sample is not None and len(sample.values) else None
        interval = sample.interval() if sample is not None and len(sample.values) > 1 else None
        reason, needs = found.why or _figures(sample), found.needs
        if word in DECIDED and found.sample is not None:
            level = refute if word == "refuted" else 2 * prove if claim.side == "inside" else prove
            low, high = found.sample.interval(level)
            reason += f"; {word} at {len(found.sample.values)} seeds: {100 * (1 - level):.4g} % interval "
            reason += f"{low:.4g} to {high:.4g}"
        elif self.look.seeds < self.looks[0].seeds:
            first = self.looks[0].seeds
            there = sum(self.evidence.first_seed <= seed < self.evidence.first_seed + first for seed in seeds)
            few = f"{there} of the first {first} seeds" if there < first else "other parts lack seeds"
            so_far = f"; so far not comparable: {found.why}" if word == "not comparable" else ""
            reason = "; ".join(filter(None, (_figures(sample) or (found.why if not so_far else ""), few))) + so_far
            word, needs = "undecided", f"{first} seeds"
        elif word == "undecided" and sample is not None and len(sample.values) > 1 and not found.why:
            needs = self._needs(claim, sample, prove / self.look.level, refute / self.look.level)
        look = self.look.seeds if word in DECIDED else 0
        return Verdict(word, claim.told, reason, needs, estimate, interval, len(seeds), look=look)

    def _sample(self, claim: Statement, places: Sequence[At], seeds: Sequence[int]) -> Sample | None:
        numbers = [self.evidence[place][seed] for place in places for seed in seeds]
        if not numbers or any(number.value is None for number in numbers):
            return None
        alike = len(image_counts(places, self.evidence, seeds)) < 2
        return sample_of(claim, places, self.evidence, seeds) if alike else None

    def _needs(self, claim: Statement, sample: Sample, prove: float, refute: float) -> str:
        """At which look it would be decided if more seeds varied as these do, at these shares of the look's level."""
        for look in self.looks:
            if look.seeds > self.look.seeds and _decided(claim, sample, look, prove, refute):
                return f"{look.seeds} seeds"
        last = self.looks[-1]
        certain = sample._replace(values=sample.values * 0 + sample.mean)
        return f"more than {last.seeds} seeds{'' if _decided(claim, certain, last, prove, refute) else IMAGES}"

    def _together(self, claim: Together, found: Finding, prove: float, refute: float) -> Verdict:
        if claim.all:
            refute = proof.holm([one.refuted for one in found.members], refute)
        else:
            prove = proof.holm([one.shown for one in found.members], prove)
        members = tuple(self.told(one, prove, refute) for one in found.members)
        words, k = [member.word for member in members], len(members)
        order = LEAST if claim.all else MOST
        word = next(word for word in (*order, "shown") if word in words)
        counts = ", ".join(f"{words.count(w)} {w}" for w in LEAST if w in words)
        left_out = f"; {found.parts - k} {CUT}" if k < found.parts else ""
        needs = [member.needs for member in members if member.word == word and member.needs]
        told = max(needs, key=self._length) if needs and word not in DECIDED else ""
        decided = [member.look for member in members if member.word == word] if word in DECIDED else []
        reason = f"of {k} part{'s' * (k > 1)}: {counts}{left_out}"
        seeds = min(member.seeds for member in members)
        return Verdict(word, claim.told, reason, told, seeds=seeds, members=members, look=max(decided, default=0))

    def _length(self, needs: str) -> int:
        """Of what is needed, the order in which it takes longer."""
        last = f"more than {self.looks[-1].seeds} seeds"
        known = [*(f"{look.seeds} seeds" for look in self.looks), last, last + IMAGES]
        return known.index(needs) if needs in known else -1


def _decided(claim: Statement, sample: Sample, look: Look, prove: float, refute: float) -> bool:
    found = sample.estimate(look.seeds)
    shown, refuted = (float(of(claim, found)) for of in (proof.shown, proof.refuted))
    return shown < prove * look.level or refuted < refute * look.level


def _figures(sample: Sample | None) -> str:
    if sample is None or not len(sample.values):
        return ""
    if len(sample.values) < 2:
        return f"{sample.mean:.4g}, 1 seed"
    low, high = sample.interval()
    return f"{sample.mean:.4g}, 95 % interval {low:.4g} to {high:.4g}, {len(sample.values)} seeds"
