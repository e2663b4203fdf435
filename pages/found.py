"""What the bench found, for pages: every artefact at the largest scale that it was run at."""

from pathlib import Path
from typing import Any

from torchcaps.bench import store
from torchcaps.bench.artefact import Artefact, Scale
from torchcaps.bench.gather import Gathered, gather
from torchcaps.bench.papers import artefacts
from torchcaps.bench.summary import summaries

RESULTS = Path(__file__).parents[1] / "results"
SCALES: tuple[Scale, ...] = ("paper", "trained", "cpu")
"""What counts, the larger first: at `smoke` everything is so small that it only shows that the machinery works."""


def chosen(results: Path = RESULTS, paper: str = "") -> dict[str, Any]:
    """Of every artefact, or of those of a paper, what was found at the largest scale that it was run at, or None."""
    wanted = {name: one for name, one in artefacts().items() if paper in ("", one.paper)}
    found = {scale: summaries(list(wanted.values()), scale, results / scale)[0] for scale in SCALES}
    return {name: next((found[s][name] for s in SCALES if name in found[s]), None) for name in wanted}


def gathered(wanted: list[Artefact], results: Path = RESULTS) -> dict[str, Gathered]:
    """The lines behind it, of those artefacts that have any."""
    known = {scale: store.results(results / scale)[0] for scale in SCALES}
    made = {one.id: [gather(one, scale, known[scale]) for scale in SCALES if scale in one.budgets] for one in wanted}
    return {name: next(one for one in of if one.lines) for name, of in made.items() if any(one.lines for one in of)}


def at_cpu(results: Path = RESULTS) -> dict[tuple[str, str], str]:
    """The word of every claim at scale `cpu`, by artefact and id."""
    found = summaries(list(artefacts().values()), "cpu", results / "cpu")[0]
    return {(name, claim["id"]): claim["word"] for name, one in found.items() for claim in one["claims"]}
