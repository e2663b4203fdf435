"""A comparison as it goes: rows are told and stored as they come, and those that fail are measured again."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.paired.pairs import Asked, Clock, Pairs, Plan, compared
from benchmarks.paired.result import Found, line, save


@dataclass
class Run:
    """Which clock decides, where to store, what is known of the trees, and the rows so far."""

    clock: Clock
    json: Path | None
    about: dict[str, Any]
    found: list[Found] = field(default_factory=list)

    def all(self, both: tuple[Asked, Asked], names: list[str], plan: Plan) -> None:
        """Every workload once; the seconds that are left are shared out among those that are still to come."""
        begin = plan.now()
        for number, name in enumerate(names):
            left = plan.seconds - (plan.now() - begin)
            share = plan._replace(seconds=left / (len(names) - number))
            self.add(f"[{number + 1:3d}/{len(names)}] ", compared(both, name, share))

    def failed_pairs(self) -> dict[str, list[str]]:
        """By workload the rows that were compared and fail."""
        failed: dict[str, list[str]] = {}
        for each in self.found:
            if isinstance(each, Pairs) and not each.passes(self.clock):
                failed.setdefault(each.workload, []).append(each.row)
        return failed

    def repeat(self, both: tuple[Asked, Asked], failed: dict[str, list[str]], plan: Plan) -> None:
        """Measure some rows again; they are judged by all their pairs."""
        for name, rows in failed.items():
            self.add("[again] ", compared(both, name, plan, only=rows))

    def add(self, head: str, rows: Iterable[Found]) -> None:
        """Tell and keep rows; pairs of a row that is here already join its pairs."""
        for row in rows:
            joined = self._joined(row) if isinstance(row, Pairs) else None
            if joined is None:
                self.found.append(row)
            print(head + line(joined or row, self.clock), flush=True)
        if self.json:
            save(self.found, self.about, self.clock, self.json)

    def _joined(self, row: Pairs) -> Pairs | None:
        """The row with the pairs that it had before, now in their place, if it had any."""
        for k, each in enumerate(self.found):
            if isinstance(each, Pairs) and (each.workload, each.row) == (row.workload, row.row):
                self.found[k] = joined = each.joined(row)
                return joined
        return None
