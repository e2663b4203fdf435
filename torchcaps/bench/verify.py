"""Everything shown, computed again from the stored results: verdicts, tables, and the whole page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torchcaps.bench import store
from torchcaps.bench.artefact import SCALES, Artefact, Scale
from torchcaps.bench.gather import UNAVAILABLE
from torchcaps.bench.ledger import check_ledger, replaced
from torchcaps.bench.page import embedded, page_of, shown
from torchcaps.bench.page_check import page_differences
from torchcaps.bench.seeds import wrong_seeds
from torchcaps.bench.summary import VERDICTS, Summary, differences, stored, summaries
from torchcaps.bench.verdict import CUT


def gaps(artefacts: Sequence[Artefact], root: Path, scale: Scale) -> list[str]:
    """A line for every artefact and claim that a scale has and lacks results of, but for what cannot be."""
    computed, _ = summaries(artefacts, scale, root / scale)
    known = [artefact for artefact in artefacts if scale in artefact.budgets]
    found = [f"{artefact.id}: no results" for artefact in known if artefact.id not in computed]
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

    That there is nothing to compare is a line too: no results, no verdicts, no page.

    Args:
        root: the folder of the results, with a folder for each scale.
        page: a report that was made from them; it is rendered again. None if there is none to compare.
    """
    found, made = list[str](), dict[Scale, dict[str, Summary]]()
    for scale in SCALES:
        computed, problems = summaries(artefacts, scale, root / scale)
        found += [f"damaged: {problem}" for problem in problems]
        found += _of_scale(root, scale, computed)
        if computed:
            made[scale] = computed
            found += [*_of_lines(root / scale), *wrong_seeds(artefacts, scale, root / scale)]
    if not made and not found:
        found.append(f"there are no results in {root}: torchcaps bench run makes some")
    return found if page is None else [*found, *_of_page(page, artefacts, made, root)]


def _of_lines(folder: Path) -> list[str]:
    """What is wrong with the lines that verdicts are made from."""
    if not (folder / VERDICTS).is_file():  # which is told already
        return replaced(folder)
    try:
        return [*check_ledger(folder), *replaced(folder)]
    except ValueError as error:
        return [str(error)]


def _of_scale(root: Path, scale: Scale, computed: Mapping[str, Summary]) -> list[str]:
    """How the stored verdicts of a scale differ from computed ones."""
    folder = root / scale
    if not computed:
        lost = f"{scale}: {folder} holds no results: bring its lines back, or delete it and run torchcaps bench run"
        return [lost] if folder.is_dir() else []
    if not (folder / VERDICTS).is_file():
        return [f"{scale}: {folder / VERDICTS} is missing: torchcaps bench report writes it"]
    try:
        return differences(stored(root, scale), computed, scale)
    except ValueError as error:
        return [str(error)]


def _of_page(
    page: Path, artefacts: Sequence[Artefact], made: Mapping[Scale, Mapping[str, Summary]], root: Path
) -> list[str]:
    """How a page differs from the results: first its data, then everything on it from the same page rendered again.

    It is rendered from its own data, which are those of the results but for how processors add: rounded numbers are the
    same to the letter.
    """
    again = f"torchcaps bench report --results {root} --out {page} writes it again"
    if not page.is_file():
        return [f"{page} is missing: {again}"]
    try:
        wrong = differences(embedded(page.read_text(encoding="utf-8")), shown(made), page.name)
    except ValueError as error:
        return [f"{page} has no data that can be read ({error}): {again}"]
    if wrong:
        return wrong
    text = page.read_text(encoding="utf-8")
    return [f"{page.name}, {line}" for line in page_differences(text, page_of(artefacts, embedded(text), root))]
