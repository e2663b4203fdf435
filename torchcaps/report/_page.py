"""The page itself: sections in order, one file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from torchcaps._atomic import write_text
from torchcaps.report._section import Section
from torchcaps.report.scores import interval, percent

TEMPLATES = Path(__file__).parent / "templates"
COLOURS = 6  # of the style sheet


class Colours:
    """A network has the same colour all over a page: they are given out in the order in which networks appear.

    >>> colour = Colours()
    >>> colour("a"), colour("b"), colour("a")
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self.given: dict[str, int] = {}

    def __call__(self, network: str) -> int:
        """The number of a network's colour."""
        return self.given.setdefault(network, len(self.given)) % COLOURS


def write_report(
    path: str | Path, sections: Sequence[Section], *, title: str, lead: str, facts: Mapping[str, str] | None = None
) -> Path:
    """Write a page that needs nothing but itself, and return where it is.

    Args:
        lead: the sentences under the title.
        facts: how the page came about, by name, for its foot.
    """
    target = Path(path)
    write_text(target, render(sections, title=title, lead=lead, facts=facts))
    return target


def render(sections: Sequence[Section], *, title: str, lead: str, facts: Mapping[str, str] | None = None) -> str:
    """The page as text. Whatever stands in the data is escaped."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(f"a report needs {missing.name}: pip install 'torchcaps[bench]'") from missing
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "interval": interval}
    environment.globals["colour"] = Colours()
    page = environment.get_template("page.html")
    return page.render(sections=sections, title=title, lead=lead, facts=facts or {})
