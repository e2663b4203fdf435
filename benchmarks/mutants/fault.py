"""A fault: one place of a file, and what is to stand there instead."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Fault:
    """A change of one place of a file.

    Args:
        file: from the project's folder.
        text: the whole file as it is without the fault.
        start: where the place begins, in characters.
        end: where it ends.
        new: what is to stand there instead.
        what: the fault in words.
    """

    file: str
    text: str
    start: int
    end: int
    new: str
    what: str

    def __str__(self) -> str:
        """Such as `torchcaps/windows.py:31: another number`."""
        return f"{self.file}:{self.line}: {self.what}"

    @property
    def line(self) -> int:
        """The number of the line it begins in, from 1."""
        return self.text.count("\n", 0, self.start) + 1

    def planted(self) -> str:
        """The file's text with the fault in it."""
        return self.text[: self.start] + self.new + self.text[self.end :]

    def shown(self) -> str:
        """The fault in words, and the lines that differ, old and new."""
        first = self.text.rfind("\n", 0, self.start) + 1
        last = (self.text + "\n").index("\n", self.end)
        old = self.text[first:last]
        new = self.text[first : self.start] + self.new + self.text[self.end : last]
        lines = [f"  - {line}" for line in old.splitlines()] + [f"  + {line}" for line in new.splitlines()]
        return "\n".join([str(self), *lines])
