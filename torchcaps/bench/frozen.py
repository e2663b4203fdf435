"""The frozen list of claims: what each artefact claims, by id, in a sentence."""

import tomllib
from functools import cache
from pathlib import Path

LIST = Path(__file__).with_name("claims.toml")


@cache
def frozen() -> dict[str, dict[str, str]]:
    """For each artefact the sentences of its claims, by id.

    >>> list(frozen()["gu2021/table1"])
    ['order']
    """
    found: dict[str, dict[str, str]] = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return found
