"""The pages that people read, and the fenced blocks in them."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT)
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")]
)
FENCE = re.compile(
    r"(?:^ *<!-- check: (?P<check>.+?) -->\n)?^(?P<indent> *)```(?P<head>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A fenced block: its language, the file it is from, and what a comment above it says of how it is checked."""

    page: Path
    line: int
    language: str
    title: str
    check: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Of a console: each command with the output shown under it."""
        return commands(self.text)


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a terminal, each with its output."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    return [tuple(part.partition("\n")[::2]) for part in parts[1:]]


def blocks(page: Path, text: str | None = None) -> list[Block]:
    """All blocks of a page, in order."""
    text = (ROOT / page).read_text() if text is None else text
    found = []
    for match in FENCE.finditer(text):
        head = match["head"].strip()
        title = re.search(r'title="([^"]+)"', head)
        body = "".join(line.removeprefix(match["indent"]) for line in match["text"].splitlines(keepends=True))
        line = text.count("\n", 0, match.start("text"))
        language = re.match(r"[\w-]*", head).group()
        found.append(Block(page, line, language, title[1] if title else "", match["check"] or "", body))
    return found
