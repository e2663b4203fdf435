"""How many faults were noticed, as a line for people and as a row of the table of all runs."""

import subprocess
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from benchmarks.mutants.fault import ROOT
from benchmarks.mutants.plant import Outcome

TABLE = ROOT / "benchmarks/results/mutants.md"


class Score(NamedTuple):
    """One run: where from, by which seed, how many were drawn, and what came of those that were tried."""

    paths: Sequence[str]
    seed: int
    drawn: int
    outcomes: Sequence[Outcome]

    @property
    def noticed(self) -> int:
        return Counter(outcome.state for outcome in self.outcomes)["noticed"]

    @property
    def tried(self) -> int:
        """Without those left out: their tests fail anyway, or the time was up."""
        return self.noticed + Counter(outcome.state for outcome in self.outcomes)["survived"]

    @property
    def share(self) -> str:
        return f"{100 * self.noticed / self.tried:.1f} %" if self.tried else "–"

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: of {self.drawn} faults drawn {self.tried} tried, {self.noticed} noticed ({self.share})"
        )

    def append(self) -> None:
        """Add a row to the end of the page, which is where the table is."""
        cells = [f"{datetime.now(UTC):%Y-%m-%d}", _commit(), f"`{' '.join(self.paths)}`"]
        cells += [str(number) for number in (self.seed, self.drawn, self.tried, self.noticed)]
        with TABLE.open("a") as page:
            page.write(f"| {' | '.join([*cells, self.share])} |\n")


def _commit() -> str:
    """The commit, with a plus if files were changed since."""
    asked = ("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "--", "torchcaps", "tests")
    commit, changed = (
        subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
        for words in asked
    )
    return commit + "+" * bool(changed)
