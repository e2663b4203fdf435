"""Everything shown, computed again from the stored results: verdicts, tables, and the data inside the page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torchcaps.bench import store
from torchcaps.bench.artefact import SCALES, Artefact, Scale
from torchcaps.bench.gather import UNAVAILABLE
from torchcaps.bench.page import embedded, shown
from torchcaps.bench.summary import Summary, differences, stored, summaries
from torchcaps.bench.verdict import CUT


def gaps(artefacts: Sequence[Artefact], root: Path, scale: Scale) -> list[str]:
    """A line for every artefact and claim that is not there though its scale has been run, but for what cannot be."""
    computed, _ = summaries(artefacts, scale, root / scale)
    found = [f"{artefact.id}: no results" for artefact in artefacts if artefact.id not in computed]
    for name, one in computed.items():
        lacking = [claim for claim in one["claims"] if claim["word"] == "not run" and not _excused(claim)]
        found += [f"{name}: {claim['id']} has no number: {claim['reason']}" for claim in lacking]
        broken = [entry for entry in one["failed"] if entry[2] != store.UNAVAILABLE]
        found += [f"{name}: {row}, seed {seed} {state}: {error}" for row, seed, state, error in broken]
    return found


def _excused(claim: Mapping[str, Any]) -> bool:
    """Whether a claim has no number because the scale cuts its rows, or because data cannot be had here."""
    if claim["members"]:
        return all(_excused(member) for member in claim["members"] if member["word"] == "not run")
    return claim["reason"] == CUT or UNAVAILABLE in claim["reason"]


def verify(artefacts: Sequence[Artefact], root: Path, page: Path | None = None) -> list[str]:
    """A line for every difference between what is stored or shown and what the results say; none if all is well.

    Args:
        root: the folder of the results, with a folder for each scale.
        page: a report that was made from them.
    """
    found, made = list[str](), dict[Scale, dict[str, Summary]]()
    for scale in SCALES:
        computed, problems = summaries(artefacts, scale, root / scale)
        found += [f"damaged: {problem}" for problem in problems]
        found += differences(stored(root, scale), computed, scale)
        if computed:
            made[scale] = computed
    if page is not None and page.is_file():
        found += differences(embedded(page.read_text(encoding="utf-8")), shown(made), page.name)
    return found
