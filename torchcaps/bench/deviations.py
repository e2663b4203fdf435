"""What changed after the freeze, from `deviations.toml`: a list that only grows, for people and for `bench verify`."""

import tomllib
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

LIST = Path(__file__).with_name("deviations.toml")
NONE = "none"
"""Instead of a digest: of what was not there before, or is not there any more."""


@dataclass(frozen=True)
class Change:
    """A change of a claim, of a row's settings or measures, or of something else that verdicts depend on.

    Args:
        artefact: `paper/artefact`, or "the rule" of something that concerns all of them.
        claim, row: what of it; one of the two, where it can be said.
        scale: of a row.
        before, after: digests as `bench verify` tells them; empty of what changed before anything was frozen.
        without: what the verdict would have been without the change.
    """

    date: str
    artefact: str
    what: str
    reason: str
    without: str
    claim: str = ""
    row: str = ""
    scale: str = ""
    before: str = ""
    after: str = ""


def changes(path: Path = LIST) -> list[Change]:
    """All of them, in the order of the list."""
    return [_change(entry, f"{path.name}, entry {k}") for k, entry in enumerate(_entries(path), 1)]


def follow(digest: str, of: Change, known: Sequence[Change]) -> str:
    """What a digest has become by the changes of the same thing, one after the other.

    >>> first = Change("2026-01-01", "a/b", "wider", "why", "the same", row="c", scale="cpu", before="1", after="2")
    >>> follow("1", first, [first]), follow("3", first, [first])
    ('2', '3')
    """
    place = (of.artefact, of.claim, of.row, of.scale)
    for change in known:
        if (change.artefact, change.claim, change.row, change.scale) == place and change.before == digest:
            digest = change.after
    return digest


def _entries(path: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = tomllib.loads(path.read_text(encoding="utf-8")).get("change", [])
    return found


def _change(entry: dict[str, object], place: str) -> Change:
    known = {field.name: field.default is MISSING for field in fields(Change)}
    for name, value in entry.items():
        if name not in known:
            raise ValueError(f"{place} has {name!r}: it may have {', '.join(known)}")
        if not isinstance(value, str):
            raise ValueError(f"{place}: {name} is {value!r}: a text in quotation marks is needed")
    if lacking := [name for name, needed in known.items() if needed and not entry.get(name)]:
        raise ValueError(f"{place} lacks {', '.join(lacking)}")
    return Change(**{name: str(value) for name, value in entry.items()})
