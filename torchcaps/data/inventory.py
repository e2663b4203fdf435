"""What a data set consists of, so that another day one can tell whether it is still the same."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SHOWN = 3  # names in a sentence about many


@dataclass(frozen=True)
class Inventory:
    """The contents of a data set, by name, in order.

    >>> before, now = Inventory({"a.png": "1", "b.png": "2"}), Inventory({"a.png": "3", "c.png": "4"})
    >>> before.differences(now)
    ["1 added ('c.png')", "1 removed ('b.png')", "1 changed ('a.png')"]

    Args:
        contents: name → what identifies the contents, such as a checksum and a class.
        rule: of how they are divided and read; one that changes makes it another data set.
    """

    contents: Mapping[str, str] = field(default_factory=dict)
    rule: int = 2

    def fingerprint(self) -> str:
        """The SHA-256 of all of it."""
        lines = json.dumps([self.rule, *self.contents.items()])
        return hashlib.sha256(lines.encode()).hexdigest()

    def differences(self, now: "Inventory") -> list[str]:
        """What was added, removed and changed since; empty if nothing was."""
        before, after = self.contents, now.contents
        found = {
            "added": [name for name in after if name not in before],
            "removed": [name for name in before if name not in after],
            "changed": [name for name in before if name in after and before[name] != after[name]],
        }
        told = [f"{len(names)} {what} ({_some(names)})" for what, names in found.items() if names]
        if self.rule != now.rule:
            told.append("the rule by which images are parted and read is another")
        elif not told and self.fingerprint() != now.fingerprint():
            told.append("the order of the images is another")
        return told

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"rule": self.rule, "fingerprint": self.fingerprint(), "contents": dict(self.contents)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Inventory":
        """From what `to_json` gave; one that was changed since is refused."""
        found = cls(dict(values["contents"]), values["rule"])
        if values["fingerprint"] != found.fingerprint():
            raise ValueError("it was changed after it was written: its fingerprint is another")
        return found


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:SHOWN])) + (", …" if len(names) > SHOWN else "")
