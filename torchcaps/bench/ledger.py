"""Which lines the stored verdicts were made from: lines are added, and none is edited or taken away without a word.

`lines.json` stands beside the verdicts and has the checksum of every line, and a digest over them. It holds against
mistakes and against a report after an edit; against someone who rewrites all of it, the history of the repository does.
"""

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torchcaps._atomic import write_text
from torchcaps.bench import store
from torchcaps.bench.store import Line

LINES = "lines.json"
SHOWN = 3
"""So many lines are named of those that are lost."""


def check_ledger(folder: Path) -> list[str]:
    """How the lines of a scale differ from those that its verdicts were made from."""
    path = folder / LINES
    if not path.is_file():
        return [f"{path} is missing: torchcaps bench report writes it"]
    kept, now = _kept(path), _lines(folder)
    found = [lost] if (lost := _lost(folder, kept["lines"], now)) else []
    if new := len(now.keys() - kept["lines"].keys()):
        found.append(
            f"{folder} has {new} lines that its verdicts were not made from: torchcaps bench report takes them in"
        )
    if kept["digest"] != _digest(kept["lines"]):
        found.append(f"{path} was edited: its digest is not that of its lines")
    return found


def write_ledger(folder: Path, reason: str = "") -> None:
    """Write down which lines there are; of those that were lost, that they were, and why.

    Args:
        reason: why lines have changed or vanished; without one they may not.
    """
    path = folder / LINES
    kept: dict[str, Any] = _kept(path) if path.is_file() else {"digest": "", "lines": {}, "accepted": []}
    now = _lines(folder)
    if (told := _lost(folder, kept["lines"], now)) and not reason:
        raise ValueError(f'{told}: bring them back, or say why with torchcaps bench report --accept "…"')
    if lost := sorted(kept["lines"][check] for check in kept["lines"].keys() - now.keys()):
        facts = {"date": datetime.now(UTC).date().isoformat(), "reason": reason, "jobs": lost}
        kept["accepted"].append({**facts, "before": kept["digest"], "after": _digest(now)})
    write_text(path, json.dumps({"digest": _digest(now), "accepted": kept["accepted"], "lines": now}, indent=1) + "\n")


def accepted(folder: Path) -> list[dict[str, Any]]:
    """Every time that lines were changed or taken away: date, reason, jobs, and the digests before and after."""
    path = folder / LINES
    found: list[dict[str, Any]] = _kept(path)["accepted"] if path.is_file() else []
    return found


def replaced(folder: Path) -> list[str]:
    """Judgings that were done twice with different numbers, of which the later would count.

    A training that was done twice is none: its weights were gone when another artefact needed them.
    """
    first: dict[str, Line] = {}
    found = list[str]()
    for line in sorted(_every(folder), key=lambda line: line.get("finished", "")):
        if line["state"] != store.DONE or line["job"] != "judging":
            continue
        before = first.setdefault(line["name"], line)
        if before["numbers"] != line["numbers"]:
            found.append(
                f"{folder.name}: {line['artefact']} {line['row']}, seed {line['seed']} was done twice with different "
                f"numbers ({before.get('finished')} and {line.get('finished')}): one of the lines must go"
            )
    return found


def _every(folder: Path) -> Iterable[Line]:
    return (line for path in sorted(folder.glob(f"*{store.ENDING}")) for line in store.read(path)[0])


def _lines(folder: Path) -> dict[str, str]:
    """The jobs of all lines, by the lines' checksums."""
    return dict(sorted((line["check"], line["name"]) for line in _every(folder)))


def _kept(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}: take it from the repository") from None
    return found


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _lost(folder: Path, before: dict[str, str], now: dict[str, str]) -> str:
    """A sentence about lines that are no longer as they were; empty if all are there."""
    lost = [check for check in before if check not in now]
    if not lost:
        return ""
    named = ", ".join(f"{check} (job {before[check]})" for check in lost[:SHOWN]) + ", …" * (len(lost) > SHOWN)
    return f"{folder}: {len(lost)} lines that the verdicts were made from have changed or vanished: {named}"
