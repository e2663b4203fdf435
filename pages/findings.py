"""The page about what the bench found, from the stored results: no number on it is written by hand."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torchcaps._atomic import write_bytes
from torchcaps.bench import store
from torchcaps.bench.artefact import Artefact, Picture, Scale
from torchcaps.bench.gather import gather
from torchcaps.bench.page import drawn, ends, figure, has_printed
from torchcaps.bench.papers import artefacts
from torchcaps.bench.summary import summaries

NAME = "findings.md"
RESULTS = Path(__file__).parents[1] / "results"
THOUGHTS = Path(__file__).with_name("thoughts")
SCALES: tuple[Scale, ...] = ("paper", "trained", "cpu")
"""What counts, the larger first: at `smoke` everything is so small that it only shows that the machinery works."""
INTRODUCTION = """\
# Findings

Written by `make pages` from `results/`; `torchcaps bench verify` computes every verdict again. A claim is
**reproduced** or **refuted** if the intervals over its first 5, 8, 12 or 20 seeds and the test images say so; **not
comparable** if its rows did not learn enough to be compared; else **undecided**, as every claim about trained networks
is with fewer than five seeds. The rule is in `torchcaps/bench/verdict.py`; the claims
(`torchcaps/bench/papers/<paper>/claims.toml`) were committed before any result. These results were made before this
rule: [deviations](deviations.md) have what the rule before it said of them, with two seeds or more, and everything else
that changed; the remarks below the tables of claims still speak of those verdicts. What the scale `cpu` cuts is said
with every artefact. [Reproducing a paper](reproducing.md) tells how to run them, [the bibliography](bibliography.md)
what the keys mean.
"""


def render(results: Path = RESULTS) -> str:
    """Every artefact with its claims, and what became of them."""
    found = chosen(results)
    parts = [INTRODUCTION, overview(found)]
    paper = ""
    for name, artefact in artefacts().items():
        if artefact.paper != paper:
            paper = artefact.paper
            parts.append(f"## {paper}\n")
        parts.append("\n".join(_artefact(artefact, found[name])))
    return "\n".join(parts).rstrip() + "\n"


def chosen(results: Path) -> dict[str, Any]:
    """Of every artefact what was found at the largest scale that it was run at, or None."""
    found = {scale: summaries(list(artefacts().values()), scale, results / scale)[0] for scale in SCALES}
    return {name: next((found[s][name] for s in SCALES if name in found[s]), None) for name in artefacts()}


def overview(chosen: dict[str, Any]) -> str:
    """How many claims ended how."""
    words = Counter(
        word
        for name, summary in chosen.items()
        for word in (
            [claim["word"] for claim in summary["claims"]] if summary else ["not run"] * len(artefacts()[name].claims)
        )
    )
    run = sum(summary is not None for summary in chosen.values())
    counts = ", ".join(
        f"{words[w]} {w}"
        for w in ("reproduced", "refuted", "not comparable", "undecided", "shown", "not run")
        if words[w]
    )
    return f"{run} of {len(chosen)} artefacts have results. Of {words.total()} claims: {counts}.\n"


def _artefact(artefact: Artefact, summary: dict[str, Any] | None) -> Iterator[str]:
    yield f"### {artefact.id}: {artefact.title}\n"
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
        yield f"| {_cell(sentence)} | {claim['word'] if claim else 'not run'} | {_cell(figures)} |"
    yield ""
    if summary is not None:
        yield from _thoughts(artefact)
        for table in summary["tables"]:
            yield from _table(table)
        for name, picture in pictures(artefact):
            yield f"![{picture.title}](findings/{name})\n\n*{_cell(picture.title)}* ([larger](findings/{name}))\n"


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
    yield f"| {_cell(table['title'])} | {' | '.join(map(_cell, table['columns']))} |"
    yield "|---" * (1 + len(table["columns"])) + "|"
    for title, cells in table["lines"]:
        yield f"| {_cell(title)} | {' | '.join(map(value, cells))} |"
    yield ""
    if has_printed(table):
        yield "In brackets what the paper printed.\n"


def value(cell: dict[str, Any] | None) -> str:
    """What was measured, its interval, and what the paper printed."""
    if cell is None:
        return ""
    ours = figure(cell["ours"], cell["form"])
    interval = f" ({ends(cell)})" if ends(cell) else ""
    printed = "" if cell["printed"] is None else f" [{figure(cell['printed'], cell['form'])}]"
    return ours + interval + printed


def pictures(artefact: Artefact) -> list[tuple[str, Picture]]:
    """The pictures of an artefact, and the names of their files."""
    stem = artefact.id.replace("/", "-")
    return [(f"{stem}-{number}.svg", picture) for number, picture in enumerate(artefact.pictures, 1)]


def draw(folder: Path, results: Path = RESULTS) -> None:
    """The pictures of every artefact that has results, at the largest scale that it was run at."""
    known = {scale: store.results(results / scale)[0] for scale in SCALES}
    folder.mkdir(parents=True, exist_ok=True)
    for artefact in artefacts().values():
        made = (gather(artefact, scale, known[scale]) for scale in SCALES if scale in artefact.budgets)
        if (found := next((one for one in made if one.lines), None)) is not None:
            for name, picture in pictures(artefact):
                write_bytes(folder / name, drawn(picture, found))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("*", "\\*")
