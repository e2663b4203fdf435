"""The part of the README that comes from results: the sentences of the papers, each with its verdict."""

from pathlib import Path

from pages.found import RESULTS
from pages.sentences import table

README = RESULTS.parent / "README.md"
BEGIN, END = "<!-- written by `make pages` from `results/` -->\n", "<!-- end of what is written -->\n"


def render(text: str, results: Path = RESULTS) -> str:
    """The README with its written part anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table('docs/findings', results)}\n{END}{after}"
