"""What is shown of an artefact, as plain data: verdicts, tables, cost. It is stored, and can be computed again."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torchcaps._atomic import write_text
from torchcaps.bench import store
from torchcaps.bench.artefact import SCALES, Artefact, Scale
from torchcaps.bench.gather import Gathered, gather
from torchcaps.bench.ledger import write_ledger
from torchcaps.bench.table import fill
from torchcaps.bench.verdict import is_deterministic, judge

VERDICTS = "verdicts.json"
CLOSE = 1e-6
"""Numbers that differ by less than this share of themselves are the same: processors do not add alike."""
LONGEST = 80
"""Characters that are told of a stored value."""

Summary = dict[str, Any]


def summary(found: Gathered) -> Summary:
    """Everything that the report says of an artefact, but for its pictures."""
    artefact, budget = found.artefact, found.artefact.budgets[found.scale]
    claims = [
        {
            "id": name,
            "sentence": sentence,
            "deterministic": is_deterministic(artefact.claims[name]),
            **asdict(judge(artefact.claims[name], found.evidence)),
        }
        for name, sentence in artefact.sentences.items()
    ]
    plain: Summary = json.loads(
        json.dumps(
            {
                "id": artefact.id,
                "title": artefact.title,
                "paper": artefact.paper,
                "kind": artefact.kind,
                "scale": found.scale,
                "target": _target(found),
                "seeds": sorted({seed for row, seed in found.lines if row not in found.evidence.own}),
                "claims": claims,
                "tables": [asdict(fill(table, found.evidence)) for table in artefact.tables],
                "about": artefact.about,
                "cuts": budget.cuts,
                "done": len(found.lines),
                "expected": found.expected,
                "failed": [[line["row"], line["seed"], line["state"], line["error"]] for line in found.failed],
                "seconds": found.seconds,
                "commits": sorted({line["commit"] for line in found.lines.values()}),
            }
        )
    )
    return plain


def summaries(artefacts: Sequence[Artefact], scale: Scale, folder: Path) -> tuple[dict[str, Summary], list[str]]:
    """The summary of every artefact of which something is stored, and a line for everything that cannot be read."""
    results, problems = store.results(folder)
    known = [artefact for artefact in artefacts if scale in artefact.budgets]
    found = [gather(artefact, scale, results) for artefact in known]
    return {one.artefact.id: summary(one) for one in found if one.lines or one.failed}, list(map(str, problems))


def computed(artefacts: Sequence[Artefact], root: Path) -> dict[Scale, dict[str, Summary]]:
    """The summaries of every scale that has results, and nothing written."""
    made = {scale: summaries(artefacts, scale, root / scale)[0] for scale in SCALES}
    return {scale: found for scale, found in made.items() if found}


def write(artefacts: Sequence[Artefact], root: Path, *, accept: str = "") -> dict[Scale, dict[str, Summary]]:
    """Compute the summaries of every scale that has results, and store beside the results those that differ.

    Args:
        accept: why lines of which verdicts were made have changed or vanished; without a reason they may not.
    """
    made = computed(artefacts, root)
    for scale, found in made.items():
        write_ledger(root / scale, accept)
        if not _is_stored(root, scale, found):
            write_text(root / scale / VERDICTS, json.dumps(found, indent=1) + "\n")
    return made


def _is_stored(root: Path, scale: Scale, found: Mapping[str, Summary]) -> bool:
    """Whether the same is stored already, but for how processors add."""
    try:
        return not differences(stored(root, scale), found)
    except ValueError:  # what cannot be read is written again
        return False


def stored(root: Path, scale: Scale) -> dict[str, Summary]:
    """The summaries that were stored for a scale."""
    path = root / scale / VERDICTS
    try:
        found: dict[str, Summary] = json.loads(path.read_text()) if path.is_file() else {}
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}: torchcaps bench report writes it again") from None
    return found


def differences(before: Any, now: Any, where: str = "") -> list[str]:
    """Where two pieces of plain data differ; numbers may by a millionth.

    >>> differences({"a": [1.0, "x"]}, {"a": [1.0000000001, "y"]})
    ["a.1: stored 'x', computed 'y'"]
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        keys = [*before, *(key for key in now if key not in before)]
        lone = [key for key in keys if (key in before) != (key in now) and before.get(key) is now.get(key)]
        found = [d for key in keys for d in differences(before.get(key), now.get(key), f"{where}.{key}".lstrip("."))]
        return [*(f"{where}.{key} stands on one side alone".lstrip(".") for key in lone), *found]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [d for k, pair in enumerate(zip(before, now, strict=True)) for d in differences(*pair, f"{where}.{k}")]
    if isinstance(before, float | int) and isinstance(now, float | int) and math.isclose(before, now, rel_tol=CLOSE):
        return []
    return [] if before == now else [f"{where}: stored {short(before)}, computed {short(now)}"]


def short(value: object) -> str:
    """A line of it: an artefact that is not stored at all would fill a page."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _target(found: Gathered) -> float | None:
    """The accuracy at which rows were stopped."""
    told = ((line["settings"] or {}).get("until_accuracy") for line in found.lines.values())
    return min((target for target in told if target is not None), default=None)
