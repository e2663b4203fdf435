"""The part of the README that comes from results: the sentences of the papers, and the cross table in short."""

import textwrap
from pathlib import Path
from typing import Any

from pages.choosing import behind, cross
from pages.found import RESULTS
from pages.sentences import table as sentences_table
from torchcaps.bench.page import figure

README = RESULTS.parent / "README.md"
BEGIN, END = "<!-- written by `make pages` from `results/` -->\n", "<!-- end of what is written -->\n"
SHORT = {
    "clean": "clean",
    "affine": "affine",
    "overlap": "overlap",
    "PGD 0.1": "PGD",
    "clean, 5 layers": "deep",
    "sign": "sign",
    "ms a step": "ms",
    "MB": "MB",
}
"""Columns of the table, and what they are called here."""
SENTENCES = """\
What the abstracts (A) and bodies (B) say, a verdict each; a claim about trained networks with fewer than five seeds is
undecided. [How to read it](docs/findings.md).
"""
INTRODUCTION = """\
Every routing in the same CapsNet, and three ConvNets, after the same 90,000 digits. In percent: digits as learned,
warped, overlapping, attacked (PGD, 0.1); digits as learned by five layers of capsules; the sign of a number, without a
bias. Milliseconds and megabytes are those of a training step at full size
([with intervals](docs/choosing.md#what-the-bench-found)).
"""
JUDGED = ("clean", "affine", "overlap", "PGD 0.1", "clean, 5 layers", "sign")
"""Columns of which it is told who is behind."""


def render(text: str, results: Path = RESULTS) -> str:
    """The README with its written part anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = cross(results)
    short = "" if table is None else f"{INTRODUCTION}\n{_short(table)}\n{_verdicts(table)}\n"
    said = f"{SENTENCES}\n{sentences_table('docs/findings', results)}"
    return f"{before}{BEGIN}\n{said}\n{short}{END}{after}"


def _short(summary: dict[str, Any]) -> str:
    """Figures without their intervals, a line for each network."""
    table = summary["tables"][0]
    places = [table["columns"].index(name) for name in SHORT]
    lines = [["", *SHORT.values()], ["---"] * (1 + len(SHORT))]
    lines += [[title, *(_figure(cells[place]) for place in places)] for title, cells in table["lines"]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _verdicts(summary: dict[str, Any]) -> str:
    """Whose interval lies below that of the best, test by test."""
    told = [f"{SHORT[column]}: {', '.join(behind(summary, column)[2]) or 'nobody'}" for column in JUDGED]
    seeds = len(summary["seeds"])
    text = (
        f"Behind the best, intervals apart, over {seeds} seeds: {'; '.join(told)}. That describes these networks and "
    )
    text += "decides no claim. [As advice](docs/choosing.md#as-advice)."
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def _figure(cell: dict[str, Any] | None) -> str:
    return "–" if cell is None or cell["ours"] is None else figure(cell["ours"], cell["form"])
