"""The rule by which stored numbers become verdicts. It knows no results.

Results that were stored before it are judged by it again; what the rule before it said of them is kept beside them.

Looks. A claim is looked at four times: at its first 5, 8, 12 and 20 seeds, at levels α of 0.02, 0.01, 0.01 and 0.01,
0.05 in all. A look at n seeds uses exactly the first n of every row that has any result, and happens only if all these
rows have them. The first look that calls the whole claim reproduced or refuted stands; later seeds change the estimate
and the 95 % interval that are shown with it, and nothing else. Before the first look a claim is undecided. Claims about
numbers that are counted, into which nothing random enters, and pictures need no look.

Intervals. Rows are judged on the same images, seed by seed. Of the S numbers of a statement, one a seed: A = var/S,
with S − 1 below var; B = max(v, 1/M)/M, with v the variance of the mean over seeds between M images (images made from
the same source image are one: their mean). The interval is Student's with the squared error A + B and
(2A + B)²/((2A)²/(S − 1) + B²/(M − 1)) degrees of freedom; with A alone, and S − 1, for numbers that are no shares of
images. (`sample.py` says what the 2 is for.)

Statements, with the interval at 1 − α:

- above a value (greater: the difference of two rows above 0; at least: above −margin; rises: the slope above 0), with a
  smallest effect of interest δ, 0 if none is named: reproduced if the interval lies above the value and the estimate is
  at least the value + δ; refuted if the interval lies below the value + δ. Below a value: the other way round.
- inside a margin (alike): reproduced if the 1 − 2α interval lies inside; refuted if the 1 − α interval lies outside.

Claims of parts. All of k: reproduced if all parts are, each at α; refuted if a part is by Holm's step-down at α over
the k parts. One of k: reproduced if a part is by Holm's step-down, refuted if all are, each at α. The words beside the
parts are of the same look and levels. Parts whose rows the scale cuts are left out. Otherwise the claim takes the first
of these words that a part has: of all, refuted, not run, not comparable, undecided; of one, reproduced, not run, not
comparable, undecided.

Gates. A statement is not comparable if by the seeds of the look a gate before it is not passed or was not measured; a
control is not reproduced (level 0.05; one that the scale cuts is not asked, but for the first); a row did not reach the
accuracy at which rows are compared; rows were judged on different images; compared rows are all above 99.5 %, or all at
chance. A number that is not defined in every seed leaves it undecided.

What the rule cannot do: t intervals take the seeds for draws that are roughly normal. A failure to learn that is rarer
than one seed in S can be absent from all S, and the mean over the seeds is then not what they show.
"""

from collections.abc import Iterator

from torchcaps.bench.claims import Claim, Counted, Statement, Together
from torchcaps.bench.evidence import At, Evidence
from torchcaps.bench.finding import CUT as CUT
from torchcaps.bench.finding import find, flat
from torchcaps.bench.sample import places_of
from torchcaps.bench.telling import DECIDED, Look, Teller
from torchcaps.bench.telling import Verdict as Verdict

LOOKS = (Look(5, 0.02), Look(8, 0.01), Look(12, 0.01), Look(20, 0.01))
MOST_SEEDS = 100


def judge(claim: Claim, evidence: Evidence) -> Verdict:
    """The verdict on a claim.

    >>> from torchcaps.bench.claims import above
    >>> from torchcaps.bench.evidence import Number
    >>> found = Evidence({At("a", "x"): {seed: Number(0.9 + 0.01 * seed) for seed in range(5)}})
    >>> verdict = judge(above("a", 0.5, on="x"), found)
    >>> verdict.word, verdict.look
    ('reproduced', 5)
    """
    before = Look(0, LOOKS[0].level)
    verdict = Teller(evidence, before, LOOKS).told(find(claim, evidence, look=False))
    for look in _looks(claim, evidence):
        if verdict.word in DECIDED:
            break
        first = evidence.first_seed
        found = find(claim, evidence.only(range(first, first + look.seeds)))
        verdict = Teller(evidence, look, LOOKS).told(found)
    return verdict


def judge_once(claim: Claim, evidence: Evidence, level: float) -> Verdict:
    """The verdict of a single look at all seeds there are, as comparisons of a user's own networks have it.

    >>> from torchcaps.bench.claims import above
    >>> from torchcaps.bench.evidence import Number
    >>> found = Evidence({At("a", "x"): {seed: Number(0.9 + 0.01 * seed) for seed in range(3)}})
    >>> judge_once(above("a", 0.5, on="x"), found, 0.05).word
    'reproduced'
    """
    looks = [Look(seeds, level) for seeds in range(2, MOST_SEEDS + 1)]
    seeds = len(evidence.seeds([at for at in _places(claim, evidence) if evidence[at]]))
    return Teller(evidence, Look(seeds, level), looks).told(find(claim, evidence))


def is_deterministic(claim: Claim) -> bool:
    """Whether nothing random enters a claim; such claims are counted apart.

    >>> from torchcaps.bench.claims import greater
    >>> is_deterministic(greater("a", "b", "clean"))
    False
    """
    if isinstance(claim, Together):
        return all(is_deterministic(member) for member in claim.members)
    return isinstance(claim, Counted)


def _looks(claim: Claim, evidence: Evidence) -> Iterator[Look]:
    """The looks for which all rows with any result have their seeds."""
    numbers = [found for place in _places(claim, evidence) if (found := evidence[place])]
    for look in LOOKS if numbers else ():
        wanted = set(range(evidence.first_seed, evidence.first_seed + look.seeds))
        if not all(wanted <= set(found) for found in numbers):
            return
        yield look


def _places(claim: Claim, evidence: Evidence, *, control: bool = False) -> Iterator[At]:
    """The places that must have the seeds of a look: of statements, of their controls and of their gates."""
    match claim:
        case Together():
            for part in flat(claim):
                yield from _places(part, evidence, control=control)
        case Statement():
            if (places := places_of(claim, evidence)) is None:
                return
            yield from places
            gates = [place for gate in claim.gates for place, _ in gate.terms]
            yield from (place for place in gates if place.row not in evidence.own)
            for one in claim.controls:
                yield from _places(one, evidence, control=True)
        case Counted() if control:
            yield from [claim.a, *([claim.value] if isinstance(claim.value, At) else [])]
