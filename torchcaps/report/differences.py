"""Networks two by two: by how much one is better than the other, and whether that is more than chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.report._section import Section


@dataclass(frozen=True, kw_only=True)
class Differences(Section):
    """A line for each pair on each test: the test, who against whom, by how much, and how sure that is."""

    template: ClassVar[str] = "differences.html"
    title: str = "Who is better, and how sure it is"
    note: str = (
        "In percent of the test images, with an interval over seeds and images that is wide enough for all pairs of a "
        "test at once: 95 % of such tables have no wrong line called sure."
    )
    lines: Sequence[tuple[str, str, str, str]]
