"""What became of verdicts when the rule changed: of every claim at a scale its word by the rule before, and by this."""

import json
from pathlib import Path
from typing import NamedTuple

from torchcaps.bench.artefact import Scale
from torchcaps.bench.summary import stored

BEFORE = "verdicts-old-rule.json"


class Change(NamedTuple):
    """A claim with both verdicts; "not run" if one of the rules had no result of its artefact.

    Args:
        why: the reason of the verdict by this rule.
    """

    artefact: str
    claim: str
    before: str
    now: str
    why: str


def rejudged(root: Path, scale: Scale = "cpu") -> list[Change]:
    """Every claim that either rule has judged, in the order of the stored verdicts; empty if no rule came before."""
    path = root / scale / BEFORE
    if not path.is_file():
        return []
    before = json.loads(path.read_text(encoding="utf-8"))["verdicts"]
    now = {name: {claim["id"]: claim for claim in one["claims"]} for name, one in stored(root, scale).items()}
    missing = {"word": "not run", "reason": "no result yet"}
    return [
        Change(name, claim, first["word"], second["word"], second["reason"])
        for name in dict.fromkeys([*before, *now])
        for old, new in [(before.get(name, {}), now.get(name, {}))]
        for claim in dict.fromkeys([*old, *new])
        for first, second in [(old.get(claim, missing), new.get(claim, missing))]
    ]
