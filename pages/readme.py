"""The part of the README that comes from results: the cross table in short, and how many claims ended how."""

from pathlib import Path
from typing import Any

from pages.choosing import cross
from pages.findings import RESULTS, chosen, overview
from torchcaps.bench.page import figure

README = RESULTS.parent / "README.md"
BEGIN, END = "<!-- written by `make pages` from `results/` -->\n", "<!-- end of what is written -->\n"
SHORT = {
    "clean": "clean",
    "affine": "affine",
    "overlap": "overlap",
    "PGD 0.1": "PGD",
    "living, 5 layers": "living",
    "sign": "sign",
    "ms a step": "ms",
    "MB": "MB",
}
"""Columns of the table, and what they are called here."""
INTRODUCTION = """\
Every routing in the same CapsNet, and three ConvNets, after the same 90,000 digits. In percent: digits as learned,
warped, overlapping, attacked (PGD, 0.1); hidden capsules that live in a network of five layers; the sign of a number,
without a bias. Milliseconds and megabytes are those of a training step at full size
([with intervals](docs/choosing.md#what-the-bench-found)).
"""


def render(text: str, results: Path = RESULTS) -> str:
    """The README with its written part anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = cross(results)
    short = "" if table is None else f"{INTRODUCTION}\n{_short(table)}\n"
    return f"{before}{BEGIN}\n{overview(chosen(results))}\n{short}{END}{after}"


def _short(summary: dict[str, Any]) -> str:
    """Figures without their intervals, a line for each network."""
    table = summary["tables"][0]
    places = [table["columns"].index(name) for name in SHORT]
    lines = [["", *SHORT.values()], ["---"] * (1 + len(SHORT))]
    lines += [[title, *(_figure(cells[place]) for place in places)] for title, cells in table["lines"]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _figure(cell: dict[str, Any] | None) -> str:
    return "–" if cell is None or cell["ours"] is None else figure(cell["ours"], cell["form"])
