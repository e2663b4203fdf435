"""The freeze: digests of claims, settings and measures, written down before the results, and what differs from them."""

import json
from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torchcaps._atomic import write_text
from torchcaps.bench import store
from torchcaps.bench.artefact import Artefact, Scale
from torchcaps.bench.deviations import NONE, Change, changes, follow
from torchcaps.bench.frozen import FOLDER, where_said
from torchcaps.bench.jobs import Judging, Training, digest, told

FILE = "frozen.json"
FROZEN_SCALES: tuple[Scale, ...] = ("cpu", "trained")

Record = dict[str, Any]
"""Of an artefact: `claims`, a digest by id, and `rows`, by scale a digest by row."""


def record(artefact: Artefact, scales: Sequence[str] = FROZEN_SCALES) -> Record:
    """What an artefact claims, trains and measures now, as digests."""
    claims = {name: _claim(artefact, name) for name in artefact.sentences}
    rows = {scale: _rows(artefact, scale) for scale in FROZEN_SCALES if scale in scales and scale in artefact.budgets}
    return {"claims": claims, "rows": rows}


def frozen_records(paper: str, folder: Path = FOLDER) -> dict[str, Record]:
    """What is frozen of a paper, by artefact."""
    path = folder / paper / FILE
    found: dict[str, Record] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def freeze(paper: str, artefacts: Sequence[Artefact], results: Path, folder: Path = FOLDER) -> Path:
    """Write the digests of all artefacts of a paper; refused where results came first and a digest would change."""
    own = [artefact for artefact in artefacts if artefact.paper == paper]
    if not own:
        raise ValueError(f"there is no paper {paper!r}: {', '.join(dict.fromkeys(a.paper for a in artefacts))} are")
    before, now = frozen_records(paper, folder), {artefact.id: record(artefact) for artefact in own}
    judged = {scale: _judged(results / scale) for scale in FROZEN_SCALES}
    for name in {**before, **now}:
        for change in _between(name, before.get(name), now.get(name)):
            seen = [scale for scale in FROZEN_SCALES if name in judged[scale] and change.scale in ("", scale)]
            if seen:
                raise ValueError(
                    f"{_place(change)} would change, and {name} has results at {seen[0]}: a freeze comes before "
                    "results; put it into torchcaps/bench/deviations.toml, as torchcaps bench verify tells"
                )
    path = folder / paper / FILE
    write_text(path, json.dumps(now, indent=1) + "\n")
    return path


def thawed(artefacts: Sequence[Artefact], folder: Path = FOLDER, known: Sequence[Change] | None = None) -> list[str]:
    """What differs from the freeze and stands in no deviation, each with the entry that would say so."""
    known = changes() if known is None else known
    now = {artefact.id: artefact for artefact in artefacts}
    found = list[str]()
    for paper in dict.fromkeys(artefact.paper for artefact in artefacts):
        for name, before in frozen_records(paper, folder).items():
            after = record(now[name], tuple(before["rows"])) if name in now else None
            differing = _between(name, before, after)
            found += [_told(one) for one in differing if follow(one.before, one, known) != one.after]
    return found


def unfrozen(artefacts: Sequence[Artefact], root: Path, folder: Path = FOLDER) -> list[str]:
    """Artefacts that have results at a scale and are not frozen at it."""
    found = list[str]()
    for scale in FROZEN_SCALES:
        judged = _judged(root / scale)
        for artefact in artefacts:
            frozen = frozen_records(artefact.paper, folder).get(artefact.id, {"rows": {}})
            if artefact.id in judged and scale in artefact.budgets and scale not in frozen["rows"]:
                found.append(f"{artefact.id} has results at {scale} and was not frozen before them")
    return found


def _between(name: str, before: Record | None, now: Record | None) -> list[Change]:
    """What differs between two records of an artefact, as entries that are not filled in yet."""
    old, new = before or {}, now or {}
    found = [Change("", name, "", "", "", claim=claim, before=a, after=b) for claim, a, b in _pairs(old, new, "claims")]
    rows = {**old.get("rows", {}), **new.get("rows", {})}
    for scale in rows:
        pairs = _pairs(old.get("rows", {}), new.get("rows", {}), scale)
        found += [Change("", name, "", "", "", row=row, scale=scale, before=a, after=b) for row, a, b in pairs]
    return found


def _pairs(old: Record, new: Record, part: str) -> list[tuple[str, str, str]]:
    """What has different digests, with both of them."""
    before, now = old.get(part, {}), new.get(part, {})
    every = {name: (before.get(name, NONE), now.get(name, NONE)) for name in {**before, **now}}
    return [(name, a, b) for name, (a, b) in every.items() if a != b]


def _place(change: Change) -> str:
    what = f"claim {change.claim}" if change.claim else f"row {change.row} at {change.scale}"
    return f"{change.artefact}, {what}"


def _told(change: Change) -> str:
    """A difference, and what to write so that it is none."""
    facts = {
        "date": datetime.now(UTC).date().isoformat(),
        "artefact": change.artefact,
        **({"claim": change.claim} if change.claim else {"row": change.row, "scale": change.scale}),
        "before": change.before,
        "after": change.after,
        "what": "…",
        "reason": "…",
        "without": "…",
    }
    entry = "\n".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in facts.items())
    return (
        f"{_place(change)} is not what was frozen: undo the change, or say it in torchcaps/bench/deviations.toml "
        f"(what changed, why, and what the verdict would have been without it):\n[[change]]\n{entry}"
    )


def _claim(artefact: Artefact, name: str) -> str:
    said = {"sentence": artefact.sentences[name], "where": where_said(artefact.id, name)}
    return digest({**said, "claim": plain(artefact.claims[name])})


def _rows(artefact: Artefact, scale: Scale) -> dict[str, str]:
    found: dict[str, str] = {}
    for job in artefact.judgings(scale, 1):
        found.setdefault(job.row, _row(job))
    return found


def _row(job: Judging) -> str:
    """Of everything that decides what is measured, but for the seed and the images' own hash."""
    own, *others = (None, *job.others) if job.training is None else job.trainings
    return digest(
        {
            "version": job.version,
            "settings": None if own is None else _settings(own),
            "others": [_settings(other) for other in others if other is not None],
            "measures": [[measure.name, measure.options] for measure in job.measures],
        }
    )


def _settings(training: Training) -> dict[str, Any]:
    return {name: value for name, value in told(training.settings).items() if name != "seed"}


def plain(value: object) -> object:
    """A claim as plain data: types by name, and fields that differ from their defaults, so that later ones change none.

    How a statement is told in a few words decides nothing, and is left out.

    >>> from torchcaps.bench.claims import above
    >>> plain(above("a", 0.5, on="x"))["value"]
    0.5
    """
    if is_dataclass(value) and not isinstance(value, type):
        own = {f.name: getattr(value, f.name) for f in fields(value) if f.name != "told"}
        usual = {f.name: f.default for f in fields(value) if f.default is not MISSING}
        kept = {name: plain(one) for name, one in own.items() if name not in usual or one != usual[name]}
        return {"type": type(value).__name__, **kept}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if value is None or isinstance(value, str | float | int):
        return value
    raise TypeError(f"{value!r} is no plain data, of which claims are made")


def _judged(folder: Path) -> set[str]:
    """The artefacts that have results in a folder."""
    known, _ = store.results(folder)
    return {line["artefact"] for line in known.values() if line["job"] == "judging"}
