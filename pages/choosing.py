"""The page about choosing a routing: what each costs, counted, and what the cross table of the bench found."""

import textwrap
from pathlib import Path
from typing import Any

from pages.findings import THOUGHTS, value
from pages.found import RESULTS, chosen
from torchcaps.bench.papers import artefacts
from torchcaps.layers import CapsuleLayer
from torchcaps.routing import ROUTINGS
from torchcaps.types import CapsShape

NAME, CROSS = "choosing.md", "cross/table"
TESTS = ("clean", "affine", "overlap", "PGD 0.1", "compactness", "clean, 5 layers", "sign")
"""Columns of which more is better, and which not all rows share the top of."""
LARGE = CapsShape((6, 6), 32, 8)
INTRODUCTION = """\
# Choosing a routing

Written by `make pages`: the first table is counted from the code, the rest comes from `results/`.

## What each is and costs

*Iterations* are those of the default. *Parameters* are those of the routing itself between 1152 capsules of 8 numbers
and 10 of 16, beside the 1,474,560 of the votes. *Weighs*: a child counts as much as it is active. *Activations*:
parents have one; without it a linear head reads their poses.

| routing | iterations | parameters | competes | weighs | activations |
|---|---|---|---|---|---|
"""
BY_DESIGN = """
What follows from this, before any training:

- `uniform` and `trainable` do not depend on the image: a layer is one matrix product, or a convolution, and as fast.
  Nothing is routed; they are what a routing has to beat.
- `self_routing` and `self_attention` look at the image once, without iterations.
- `dynamic`, `em`, `inverted_attention` and `variational` iterate; `em` and `variational` keep a mean and a variance for
  each parent and take the [most time](speed.md).
- For poses without a length that means something (matrices), take a routing with activations of their own: `em`,
  `variational`, `self_routing`; or `inverted_attention` with its linear head.
- Without a bias only `inverted_attention` and `self_routing` can tell x from −x: [the theorem](findings/peer2021.md).
"""


def render(results: Path = RESULTS) -> str:
    """Costs, and what was found."""
    lines = [_row(name) for name in list(ROUTINGS)]
    return f"{INTRODUCTION}{chr(10).join(lines)}\n{BY_DESIGN}\n{_found(results)}"


def _row(name: str) -> str:
    routing = CapsuleLayer(LARGE, n=10, d=16, routing=ROUTINGS[name]).routing
    size = sum(p.numel() for p in routing.parameters())
    flags = " | ".join("yes" if flag else "no" for flag in (routing.competes, routing.weighs, routing.activates))
    return f"| [`{name}`](how-capsules-work.md#{name.replace('_', '-')}) | {routing.iters} | {size:,} | {flags} |"


def _found(results: Path) -> str:
    """The cross table, what it tells apart, and what follows from that."""
    title = "## What the bench found\n\n"
    summary = cross(results)
    if summary is not None:
        advice = (THOUGHTS / NAME).read_text()
        return f"{title}{_table(summary)}\n{_apart(summary)}\n{advice}"
    cost = artefacts()[CROSS].budgets["cpu"].minutes
    return f"{title}Not run yet: `torchcaps bench run {CROSS} --scale cpu`, about {cost:g} minutes of one core.\n"


def cross(results: Path = RESULTS) -> dict[str, Any] | None:
    """The cross table at the largest scale that it was run at, if it was."""
    found: dict[str, Any] | None = chosen(results)[CROSS]
    return found


def _table(summary: dict[str, Any]) -> str:
    """The table as it is stored, in Markdown."""
    table = summary["tables"][0]
    head = ["", *table["columns"]]
    lines = [head, ["---"] * len(head), *([title, *map(value, cells)] for title, cells in table["lines"])]
    cuts = f" Cut: {'; '.join(summary['cuts'])}." if summary["cuts"] else ""
    said = f"At scale `{summary['scale']}`, {len(summary['seeds'])} seeds, with 95 % intervals.{cuts}"
    return said + "\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def behind(summary: dict[str, Any], column: str) -> tuple[str, list[str], list[str]]:
    """Who is best in a column, whose interval touches the best one's, and whose lies wholly below."""
    table = summary["tables"][0]
    place = table["columns"].index(column)
    cells = {title: line[place] for title, line in table["lines"] if line[place] and line[place]["ours"] is not None}
    if not cells:
        return "–", [], []
    best = max(cells, key=lambda title: cells[title]["ours"])
    lower = cells[best]["interval"][0]
    below = [title for title, cell in cells.items() if cell["interval"][1] < lower]
    return best, [title for title in cells if title != best and title not in below], below


def _apart(summary: dict[str, Any]) -> str:
    """Which rows each test tells apart."""
    seeds = len(summary["seeds"])
    told = (
        f"By whether the 95 % intervals of two rows touch, over {seeds} seeds. This describes these networks; it is no"
    )
    told += " verdict, for which at least five seeds and rows of equal accuracy are needed."
    lines = ["### What is told apart", "", textwrap.fill(told, 120), ""]
    lines += ["| test | highest | touch it | lie below it |", "|---|---|---|---|"]
    for column in TESTS:
        best, touch, below = behind(summary, column)
        lines.append(f"| {column} | {best} | {', '.join(touch) or '–'} | {', '.join(below) or '–'} |")
    return "\n".join(lines) + "\n"
