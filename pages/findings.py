"""The pages about what the bench found, from the stored results: no number on them is written by hand."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pages import sentences
from pages.found import RESULTS, SCALES, chosen, gathered
from pages.words import cell, coloured
from torchcaps._atomic import write_bytes
from torchcaps.bench.artefact import Artefact, Picture
from torchcaps.bench.claims import Shown
from torchcaps.bench.finding import CUT
from torchcaps.bench.frozen import where_said
from torchcaps.bench.page import PAPERS, drawn, ends, figure, has_printed
from torchcaps.bench.papers import artefacts
from torchcaps.bench.telling import DECIDED
from torchcaps.bench.verdict import is_deterministic

NAME = "findings.md"
THOUGHTS = Path(__file__).with_name("thoughts")
OURS = ("_library", "_released")
"""What the ids of claims end in that are variants of our own."""
WORDS = (*DECIDED, "not comparable", "undecided", "not run", "shown")
KINDS = ("trained", "counted or proved", "our own variants", "partly cut", "pictures")
INTRODUCTION = """\
# Findings

What five papers say of capsule networks, sentence by sentence: A stands in the abstract, B in the body. Written by
`make pages` from `results/`; `torchcaps bench verify` computes every verdict again.

"""
READING = """
A sentence is **reproduced** or **refuted** if the intervals over its first 5, 8, 12 or 20 seeds and the test images say
so; **not comparable** if its rows did not learn enough to be compared; else **undecided**, as every claim about trained
networks is with fewer than five seeds. At scale `trained` networks learn until their accuracy is flat or at a level
fixed before; at `cpu` they are stopped early, and a verdict there is about networks that have learned little. *Accuracy
reached* is on validation images, the lowest and the highest of the rows compared. Figures are fractions, 0.01 is one
percentage point; compactness is in nats. The rule is in `torchcaps/bench/verdict.py`, the claims
(`torchcaps/bench/papers/<paper>/claims.toml`) were committed before their results, and
[deviations](deviations.md) tell everything that changed since. [Reproducing a paper](reproducing.md) tells how to run
them, [the bibliography](bibliography.md) what the keys mean.
"""
COUNTED = """
## How many claims ended how

Each artefact, a table or figure of a paper, has finer claims; its page shows them with their figures and our remarks.
*Trained* counts measured times too. *Partly cut*: the scale leaves out rows of the claim. *Our own variants*: another
start of the weights, the settings of the authors' code, parts of a sentence, and the comparison of all routings.

"""


def render(results: Path = RESULTS) -> str:
    """The sentences, how many claims ended how, and where everything stands."""
    said = f'<div class="sentences" markdown>\n\n{sentences.table("findings", results)}\n</div>\n'
    links = [f"- [{paper}](findings/{paper}.md): {title}" for paper, title in PAPERS.items()]
    return "\n".join([INTRODUCTION + said + READING + COUNTED + overview(chosen(results)), *links]) + "\n"


def of_paper(paper: str, results: Path = RESULTS) -> str:
    """The page of a paper: every artefact with its claims, and what became of them; its sentences first."""
    found = chosen(results, paper)
    known = artefacts()
    names = sorted(found, key=lambda name: known[name].kind != "text")
    parts = [f"# {paper}\n"]
    parts += [f"{PAPERS[paper]}. Written by `make pages` from `results/`; [all findings](../findings.md).\n"]
    parts += ["\n".join(_artefact(known[name], found[name])) for name in names]
    return "\n".join(parts).rstrip() + "\n"


PAGES: dict[str, Callable[[], str]] = {f"findings/{paper}.md": partial(of_paper, paper) for paper in PAPERS}
"""The pages of the papers, by name."""


def overview(chosen: dict[str, Any]) -> str:
    """How many claims ended how, kind by kind."""
    counts = {kind: Counter[str]() for kind in KINDS}
    for name, summary in chosen.items():
        told = {claim["id"]: claim for claim in summary["claims"]} if summary else {}
        for claim in artefacts()[name].claims:
            one = told.get(claim)
            counts[kind_of(artefacts()[name], claim, one)][one["word"] if one else "not run"] += 1
    run = sum(summary is not None for summary in chosen.values())
    lines = [f"{run} of {len(chosen)} artefacts have results.\n", f"| claims | {' | '.join(WORDS)} |"]
    lines.append("|---" * (1 + len(WORDS)) + "|")
    lines += [f"| {kind} | {' | '.join(str(of[word] or '–') for word in WORDS)} |" for kind, of in counts.items()]
    return "\n".join(lines) + "\n"


def kind_of(artefact: Artefact, claim: str, found: Mapping[str, Any] | None) -> str:
    """What a claim is about, and whether its scale cuts it: it is counted apart by this."""
    if isinstance(artefact.claims[claim], Shown):
        return "pictures"
    said = any(where_said(artefact.id, one) for one in artefact.claims)
    if claim.endswith(OURS) or artefact.paper == "cross" or (said and where_said(artefact.id, claim) is None):
        return "our own variants"
    if is_deterministic(artefact.claims[claim]):
        return "counted or proved"
    return "partly cut" if found is not None and CUT in found["reason"] else "trained"


def _artefact(artefact: Artefact, summary: dict[str, Any] | None) -> Iterator[str]:
    yield f"## {artefact.id}: {artefact.title}\n"
    if summary is None:
        scale = next(scale for scale in reversed(SCALES) if scale in artefact.budgets)
        command = f"torchcaps bench run {artefact.id} --scale {scale}"
        yield f"Not run yet: `{command}`, about {artefact.budgets[scale].minutes:g} minutes of one core.\n"
    else:
        cuts = f" Cut: {'; '.join(summary['cuts'])}." if summary["cuts"] else ""
        yield f"At scale `{summary['scale']}`, {_seeds(summary)}.{cuts}\n"
    yield "| claim | verdict | figures |"
    yield "|---|---|---|"
    told = {claim["id"]: claim for claim in summary["claims"]} if summary else {}
    for name, sentence in artefact.sentences.items():
        claim = told.get(name)
        figures = "" if claim is None else claim["reason"] + (f"; needs {claim['needs']}" if claim["needs"] else "")
        word = coloured(claim["word"] if claim else "not run")
        yield f"| {cell(sentence)} | {word} | {cell(figures)} |"
    yield ""
    if summary is not None:
        yield from _thoughts(artefact)
        for table in summary["tables"]:
            yield from _table(table)
        for name, picture in pictures(artefact):
            yield f"![{picture.title}]({name})\n\n*{cell(picture.title)}* ([larger]({name}))\n"


def _seeds(summary: dict[str, Any]) -> str:
    count = len(summary["seeds"])
    return f"{count} seed{'s' * (count != 1)}"


def _thoughts(artefact: Artefact) -> Iterator[str]:
    """What we make of it, in words: the one part of the page that is written by hand, and has no figures of its own."""
    path = THOUGHTS / f"{artefact.id.replace('/', '-')}.md"
    if path.is_file():
        yield path.read_text()


def _table(table: dict[str, Any]) -> Iterator[str]:
    """The paper's table with ours: what was measured, its interval, and in brackets what was printed."""
    yield f"| {cell(table['title'])} | {' | '.join(map(cell, table['columns']))} |"
    yield "|---" * (1 + len(table["columns"])) + "|"
    for title, cells in table["lines"]:
        yield f"| {cell(title)} | {' | '.join(map(value, cells))} |"
    yield ""
    if has_printed(table):
        yield "In brackets what the paper printed.\n"


def value(one: dict[str, Any] | None) -> str:
    """What was measured, its interval, and what the paper printed."""
    if one is None:
        return ""
    ours = figure(one["ours"], one["form"])
    interval = f" ({ends(one)})" if ends(one) else ""
    printed = "" if one["printed"] is None else f" [{figure(one['printed'], one['form'])}]"
    return ours + interval + printed


def pictures(artefact: Artefact) -> list[tuple[str, Picture]]:
    """The pictures of an artefact, and the names of their files."""
    stem = artefact.id.replace("/", "-")
    return [(f"{stem}-{number}.svg", picture) for number, picture in enumerate(artefact.pictures, 1)]


def draw(folder: Path, results: Path = RESULTS) -> None:
    """The pictures of every artefact that has results, at the largest scale that it was run at."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in gathered(list(artefacts().values()), results).items():
        for file, picture in pictures(artefacts()[name]):
            write_bytes(folder / file, drawn(picture, found))
