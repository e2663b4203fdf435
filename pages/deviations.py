"""The page about what changed after the freeze: the list of deviations, and the verdicts by the rule before."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pages.found import RESULTS
from pages.words import coloured
from torchcaps.bench.artefact import SCALES
from torchcaps.bench.deviations import LIST, Change, changes
from torchcaps.bench.ledger import accepted
from torchcaps.bench.summary import VERDICTS
from torchcaps.bench.telling import DECIDED

NAME = "deviations.md"
OLD = "cpu/verdicts-old-rule.json"
INTRODUCTION = """\
# Deviations

Written by `make pages` from `torchcaps/bench/deviations.toml`: everything that changed after it was written down, with
date, reason, and what the verdict would have been without the change. The claims and the rule were committed on
2026-11-17, before any result. Digests of claims, settings and measures stand in
`torchcaps/bench/papers/<paper>/frozen.json` since 2026-11-20: those of scale `cpu` were written after its results,
and so hold what comes from now on; what changed before is told here from the history. `torchcaps bench verify` fails
where a claim or a setting is not what was frozen and no entry says so.
"""


def render(listed: Path = LIST, results: Path = RESULTS) -> str:
    """Every change, and the verdicts by the old rule and the new."""
    told = [part for change in changes(listed) for part in _change(change)]
    parts = [INTRODUCTION, *told, *_lines(results), *_rules(results)]
    return "\n".join(parts).rstrip() + "\n"


def _change(change: Change) -> Iterator[str]:
    place = ", ".join(
        part
        for part in (
            change.artefact,
            change.claim and f"claim `{change.claim}`",
            change.row and f"row `{change.row}`",
            change.scale and f"scale `{change.scale}`",
        )
        if part
    )
    yield f"## {change.date}: {place}\n\n{change.what}\n"
    yield f"*Why.* {change.reason}\n"
    yield f"*Without it.* {change.without}\n"
    if change.before:
        yield f"*Digests.* `{change.before}`, since then `{change.after}`.\n"


def _lines(results: Path) -> Iterator[str]:
    """When stored lines were changed or taken away, and why."""
    for scale in SCALES:
        for entry in accepted(results / scale):
            count = len(entry["jobs"])
            yield f"## {entry['date']}: lines of the results at scale `{scale}`\n"
            yield f"{count} line{'s' * (count != 1)} changed or vanished. *Why.* {entry['reason']}\n"
            yield f"*Digests over all lines.* `{entry['before'][:16]}`, since then `{entry['after'][:16]}`.\n"


def _rules(results: Path) -> Iterator[str]:
    """What the rule before said of the same results, claim by claim; nothing if it was not kept."""
    path = results / OLD
    if not path.is_file():
        return
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    now = json.loads((path.with_name(VERDICTS)).read_text(encoding="utf-8"))
    new = {(name, claim["id"]): claim["word"] for name, one in now.items() for claim in one["claims"]}
    rows = [
        (f"{name} `{claim}`", old["word"], new.get((name, claim), "withdrawn"))
        for name, claims in kept["verdicts"].items()
        for claim, old in claims.items()
    ]
    changed = sum(before != after for _, before, after in rows)
    yield "## The verdicts at scale `cpu` by the old rule and the new\n"
    yield f"{kept['note']}\n"
    yield f"Of {len(rows)} claims {changed} have another word{_most(rows)}.\n"
    yield "| claim | by the old rule | by the new |\n|---|---|---|"
    yield from (f"| {claim} | {coloured(before)} | {coloured(after)} |" for claim, before, after in rows)


def _most(rows: list[tuple[str, str, str]]) -> str:
    """What became of those that were decided, in words."""
    told = [
        f"of {len(now)} that were {word} {now.count(word)} still are"
        for word in DECIDED
        if (now := [after for _, before, after in rows if before == word])
    ]
    return "".join(f"; {part}" for part in told)
