"""What every part of the page is."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading, a few sentences, and a template that draws the rest from the section itself, which it knows as `s`.

    Attributes:
        title: the heading.
        note: what a reader has to know before the first figure; may be empty.
    """

    template: ClassVar[str]
    title: str
    note: str = ""
