"""Whatever else was measured, as the tables that results print."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torchcaps.measures import Table
from torchcaps.report._section import Section


@dataclass(frozen=True, kw_only=True)
class Tables(Section):
    """For each network its results by name, folded away until they are wanted."""

    template: ClassVar[str] = "tables.html"
    title: str = "What else was measured"
    networks: Sequence[tuple[str, Mapping[str, Table]]]
