"""The sentences of the papers' abstracts and bodies, each with its verdict: the table that findings and README show."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pages.found import RESULTS, at_cpu, chosen, gathered
from pages.words import cell, coloured
from torchcaps.bench.claims import Claim, Statement, Together
from torchcaps.bench.evidence import At, Evidence
from torchcaps.bench.frozen import PAPERS, where_said
from torchcaps.bench.gates import VALIDATION
from torchcaps.bench.page import figure
from torchcaps.bench.papers import artefacts
from torchcaps.bench.sample import all_places

LISTED = Path(__file__).with_suffix(".toml")
UNDECIDABLE = "not decidable"
HEAD = ("sentence", "paper, A/B", "verdict", "scale", "accuracy reached", "figure, 95 % interval", "in a sentence")
SHOWN_MEMBERS = 3
"""Of a claim with more parts only their verdicts are counted."""


class Sentence(NamedTuple):
    """A line of the table."""

    paper: str
    says: str
    where: str
    word: str
    scale: str = ""
    accuracy: str = ""
    figure: str = ""
    plain: str = ""


def table(folder: str, results: Path = RESULTS) -> str:
    """The table in Markdown.

    Args:
        folder: where the pages of the papers are, seen from the page that shows it.
    """
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for one in sentences(results):
        place = f"[{one.paper}]({folder}/{one.paper}.md), {one.where}"
        told = [cell(one.says), place, coloured(one.word), one.scale, one.accuracy, cell(one.figure)]
        lines.append(f"| {' | '.join([*told, cell(one.plain)])} |")
    return "\n".join(lines) + "\n"


def sentences(results: Path = RESULTS) -> list[Sentence]:
    """Every sentence, paper by paper: those that a claim decides first."""
    known, cpu = listed(), at_cpu(results)
    found = [*_judged(results, known["finer"], cpu), *(_listed(entry, cpu) for entry in known["sentence"])]
    return sorted(found, key=lambda one: PAPERS.index(one.paper))


def listed() -> dict[str, Any]:
    """What no artefact says: sentences without a claim, and the finer claims of each sentence."""
    return tomllib.loads(LISTED.read_text(encoding="utf-8"))


def _judged(
    results: Path, finer: Mapping[str, Sequence[str]], cpu: Mapping[tuple[str, str], str]
) -> Iterator[Sentence]:
    """Those that are claims, in the order of the frozen list."""
    made = chosen(results)
    wanted = [one for one in artefacts().values() if any(where_said(one.id, claim) for claim in one.sentences)]
    behind = gathered(wanted, results)
    for one in wanted:
        claims = {claim["id"]: claim for claim in made[one.id]["claims"]} if made[one.id] else {}
        for name, says in one.sentences.items():
            if (where := where_said(one.id, name)) is None:
                continue
            beside = finer.get(f"{one.id} {name}", ())
            if name not in claims:
                plain = " ".join(["Not run yet.", *_finer(beside, cpu)])
                yield Sentence(one.paper, says, where, "not run", "trained", plain=plain)
                continue
            reached = accuracy(one.claims[name], behind[one.id].evidence)
            claim = claims[name]
            scale = made[one.id]["scale"]
            yield Sentence(one.paper, says, where, claim["word"], scale, reached, figures(claim), plainly(claim))


def _listed(entry: Mapping[str, Any], cpu: Mapping[tuple[str, str], str]) -> Sentence:
    """One that no claim decides."""
    paper, says, where = entry["paper"], entry["says"], entry["where"]
    if "open" in entry:
        return Sentence(paper, says, where, UNDECIDABLE, plain=entry["open"])
    plain = " ".join(["Not run at scale `trained`.", *_finer(entry["finer"], cpu)])
    return Sentence(paper, says, where, "not run", "trained", plain=plain)


def _finer(names: Sequence[str], cpu: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """What finer claims are at scale `cpu`, in a sentence; nothing if there is none."""
    places = [name.split() for name in names]
    told = [f"{a.partition('/')[2]} `{claim}` {cpu.get((a, claim), 'not run')}" for a, claim in places]
    if told:
        yield f"Finer claims at `cpu`: {', '.join(told)}."


def plainly(claim: Mapping[str, Any]) -> str:
    """What became of a claim, in a sentence."""
    at = "counted, not trained" if claim["deterministic"] else f"at {claim['look']} seeds"
    match claim["word"]:
        case "reproduced":
            return f"What the paper says was found: {at}."
        case "refuted":
            return f"It was found otherwise: {at}."
        case "not comparable":
            return f"The rows cannot be compared: {claim['reason']}."
        case "undecided":
            parts = [f"{claim['seeds']} seeds do not decide it", claim["needs"] and f"it needs {claim['needs']}"]
            return "; ".join(filter(None, parts)) + "."
    return f"{claim['reason'][:1].upper()}{claim['reason'][1:]}."


def figures(claim: Mapping[str, Any]) -> str:
    """The number that a claim is about, with its interval; of one with few parts, theirs."""
    if claim["estimate"] is not None:
        interval = "" if claim["interval"] is None else " ({} to {})".format(*map(figure, claim["interval"]))
        return figure(claim["estimate"]) + interval
    members = claim["members"]
    if 0 < len(members) <= SHOWN_MEMBERS and not claim.get("deterministic"):
        return "; ".join(map(figures, members))
    return str(claim["reason"]) if members else ""


def accuracy(claim: Claim, evidence: Evidence) -> str:
    """The validation accuracy of the rows that a claim compares, in percent: where its gates look, if it has any."""
    means = [_mean(place, evidence) for place in dict.fromkeys(_validation(claim, evidence))]
    known = [f"{100 * mean:.1f}" for mean in means if mean is not None]
    if not known:
        return ""
    low, high = min(known, key=float), max(known, key=float)
    return f"{low} %" if low == high else f"{low} – {high} %"


def _validation(claim: Claim, evidence: Evidence) -> Iterator[At]:
    match claim:
        case Together():
            for member in claim.members:
                yield from _validation(member, evidence)
        case Statement():
            own = [place for gate in claim.gates for place, _ in gate.terms if place.row not in evidence.own]
            yield from own or (At(place.row, VALIDATION) for place in all_places(claim))


def _mean(place: At, evidence: Evidence) -> float | None:
    values = [number.value for number in evidence[place].values() if number.value is not None]
    return sum(values) / len(values) if values else None
