"""The report: one HTML file that needs nothing but itself, with every verdict, table and picture of the bench."""

import base64
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torchcaps._atomic import write_text
from torchcaps.bench import store
from torchcaps.bench.artefact import SCALES, Artefact, Picture, Scale
from torchcaps.bench.gather import Gathered, gather
from torchcaps.bench.spans import span
from torchcaps.bench.summary import Summary
from torchcaps.bench.table import SAME
from torchcaps.bench.verdict import LOOKS
from torchcaps.report._page import TEMPLATES as BASE

TEMPLATES = Path(__file__).parent / "templates"
WORDS = ("reproduced", "refuted", "not comparable", "undecided", "not run", "shown")
PAPERS = {
    "gu2021": "Gu, Tresp, Hu: Capsule Network is Not More Robust than Convolutional Network (2021)",
    "chen2019": "Chen, Wang, Zhao, Crandall: Generalized Capsule Networks with Trainable Routing Procedure (2019)",
    "mitterreiter2023": "Mitterreiter, Koch, Giesen, Laue: Why Capsule Neural Networks Do Not Scale (2023)",
    "peer2021": "Peer, Stabinger, Rodríguez-Sánchez: Limitation of Capsule Networks (2021)",
    "tsai2020": "Tsai, Srivastava, Goh, Salakhutdinov: Capsules with Inverted Dot-Product Attention Routing (2020)",
    "cross": "Beyond the papers",
}
DATA = '<script type="application/json" id="data">'


@dataclass(frozen=True)
class Drawn:
    """A picture as two data addresses, for light pages and dark ones."""

    title: str
    paper: str
    light: str
    dark: str


@dataclass(frozen=True)
class Entry:
    """An artefact on the page: what is known of it at the largest scale that has results."""

    summary: Summary
    pictures: Sequence[Drawn] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """Its name in links."""
        return str(self.summary["id"]).replace("/", "-")

    @property
    def cost(self) -> str:
        """How long it took one core."""
        return span(self.summary["seconds"])


def shown(made: Mapping[Scale, Mapping[str, Summary]]) -> dict[str, Summary]:
    """Of each artefact the summary at the largest scale that has one."""
    return {name: one for scale in SCALES for name, one in made.get(scale, {}).items()}


def write_page(
    target: Path, artefacts: Sequence[Artefact], made: Mapping[Scale, Mapping[str, Summary]], root: Path
) -> Path:
    """Write the report of all artefacts that have results.

    Args:
        made: the summaries by scale, see `summary.write`.
        root: the folder of the results, for what pictures need.
    """
    write_text(target, page_of(artefacts, shown(made), root))
    return target


def page_of(artefacts: Sequence[Artefact], best: Mapping[str, Summary], root: Path) -> str:
    """The report as text.

    Args:
        best: the summary to show of each artefact, see `shown`.
        root: the folder of the results, for what pictures need.
    """
    known = {scale: store.results(root / scale)[0] for scale in SCALES}
    entries = [
        Entry(best[artefact.id], _pictures(artefact, best[artefact.id]["scale"], known))
        for artefact in artefacts
        if artefact.id in best
    ]
    return render(entries, len(artefacts))


def render(entries: Sequence[Entry], artefacts: int) -> str:
    """The page as text; whatever stands in the data is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([TEMPLATES, BASE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"figure": figure, "ends": ends, "kind": kind, "has_printed": has_printed}
    by_paper = {paper: [entry for entry in entries if entry.summary["paper"] == paper] for paper in PAPERS}
    data = json.dumps({entry.summary["id"]: entry.summary for entry in entries}).replace("<", "\\u003c")
    return environment.get_template("bench.html").render(
        papers={PAPERS[paper]: of for paper, of in by_paper.items() if of},
        counts=counts(entries),
        expected_wrong=expected_wrong(entries),
        words=WORDS,
        artefacts=artefacts,
        entries=entries,
        data=data,
    )


def embedded(page: str) -> dict[str, Summary]:
    """The data that a page was made from; a page without them is a ValueError."""
    _, _, behind = page.partition(DATA)
    found: dict[str, Summary] = json.loads(behind.partition("</script>")[0])
    return found


def counts(entries: Sequence[Entry]) -> dict[str, Counter[str]]:
    """How many claims have each verdict, those that something random enters apart from the others."""
    found = {"trained": Counter[str](), "deterministic": Counter[str]()}
    for entry in entries:
        for claim in entry.summary["claims"]:
            found["deterministic" if claim["deterministic"] else "trained"][claim["word"]] += 1
    return found


def expected_wrong(entries: Sequence[Entry]) -> tuple[int, float]:
    """How many claims about trained networks have had a look, and how many wrong decisions these lead to at most."""
    claims = [claim for entry in entries for claim in entry.summary["claims"] if not claim["deterministic"]]
    looked_at = sum(bool(claim.get("look")) or claim.get("seeds", 0) >= LOOKS[0].seeds for claim in claims)
    return looked_at, looked_at * sum(look.level for look in LOOKS)


def figure(value: float | int | str | None, form: str = "number") -> str:
    """A number as a table has it.

    >>> figure(93.214, "percent"), figure(716992.0, "count"), figure(0.0312), figure(None)
    ('93.2', '716,992', '0.0312', '–')
    """
    if value is None or isinstance(value, str):
        return value or "–"
    value = 0.0 if abs(value) < SAME * SAME else value
    return {"percent": f"{value:.1f}", "error": f"{value:.2f}", "count": f"{value:,.0f}"}.get(form, f"{value:.3g}")


def ends(value: Mapping[str, Any]) -> str:
    """Both ends of an interval, if there are two."""
    low, high = (figure(end, value["form"]) for end in value["interval"] or (None, None))
    return "" if low == high else f"{low} – {high}"


def has_printed(table: Mapping[str, Any]) -> bool:
    """Whether a paper printed anything in a table; otherwise it has no column for it."""
    return any(cell and cell["printed"] is not None for _, cells in table["lines"] for cell in cells)


def kind(word: str) -> str:
    """A verdict's word as the name of a style."""
    return word.replace(" ", "-")


def _pictures(artefact: Artefact, scale: Scale, known: Mapping[Scale, Mapping[str, store.Line]]) -> list[Drawn]:
    found = gather(artefact, scale, known[scale])
    made = []
    for picture in artefact.pictures:
        light, dark = (_draw(picture, found, dark=dark) for dark in (False, True))
        made.append(Drawn(picture.title, picture.paper, light, dark))
    return made


def _draw(picture: Picture, found: Gathered, *, dark: bool) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(drawn(picture, found, dark=dark)).decode("ascii")


def drawn(picture: Picture, found: Gathered, *, dark: bool = False) -> bytes:
    """A picture as SVG, on a light ground or a dark one."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from torchcaps.measures import _axes

    theme: Any = _axes._theme(_axes.DARK if dark else _axes.LIGHT)
    buffer = io.BytesIO()
    with mpl.rc_context({**theme, "svg.hashsalt": "torchcaps"}):
        page = Figure(figsize=picture.size, layout="constrained")
        picture.draw(found, page)
        page.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
