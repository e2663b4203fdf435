"""A checksum over plain data, so that a file that was edited by hand is not taken for what was written."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

SEAL = "seal"


def sealed(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts with their checksum, whatever the order of their keys.

    >>> is_whole(sealed({"classes": ["cat", "dog"]})), is_whole({**sealed({"a": 1}), "a": 2})
    (True, False)
    """
    return {**facts, SEAL: _digest(facts)}


def is_whole(facts: Mapping[str, Any]) -> bool:
    """Whether facts are as they were when they were sealed."""
    return facts.get(SEAL) == _digest({name: value for name, value in facts.items() if name != SEAL})


def _digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
