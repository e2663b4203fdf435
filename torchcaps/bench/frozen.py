"""The frozen list of claims: what each artefact claims, by id, in a sentence; a file for each paper, in its folder."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).with_name("papers")
LIST = "claims.toml"
PAPERS = ("gu2021", "chen2019", "mitterreiter2023", "peer2021", "tsai2020", "cross")
"""In this order they are shown."""

Where = Literal["A", "B"]
"""Where a paper says a sentence: in its abstract or in its body."""
Entry = str | dict[str, str]


@cache
def frozen() -> dict[str, dict[str, str]]:
    """For each artefact the sentences of its claims, by id.

    >>> list(frozen()["gu2021/table1"])
    ['order']
    """
    return {name: {claim: _says(entry) for claim, entry in claims.items()} for name, claims in _entries().items()}


def where_said(artefact: str, claim: str) -> Where | None:
    """Where the paper says a sentence: in its abstract (A) or its body (B); None of a claim about a table or figure.

    >>> where_said("gu2021/table1", "order") is None
    True
    """
    match _entries().get(artefact, {}).get(claim):
        case {"where": "A"}:
            return "A"
        case {"where": "B"}:
            return "B"
        case _:
            return None


@cache
def _entries() -> dict[str, dict[str, Entry]]:
    found: dict[str, dict[str, Entry]] = {}
    for paper in PAPERS:
        for artefact, claims in tomllib.loads((FOLDER / paper / LIST).read_text(encoding="utf-8")).items():
            for claim, entry in claims.items():
                _check(f"{paper}/{LIST}, {artefact}.{claim}", entry)
            found[f"{paper}/{artefact}"] = claims
    return found


def _check(place: str, entry: object) -> None:
    match entry:
        case str():
            return
        case {"says": str(), "where": "A" | "B", **more} if not more:
            return
    raise ValueError(f'{place} is {entry!r}: a sentence, or {{says = "a sentence", where = "A" or "B"}}')


def _says(entry: Entry) -> str:
    return entry if isinstance(entry, str) else entry["says"]
