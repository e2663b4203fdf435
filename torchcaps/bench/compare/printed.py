"""The table of a contest for a terminal of 80 columns."""

from typing import TYPE_CHECKING

from torchcaps.bench.compare.outcome import Outcome
from torchcaps.report import interval, percent

if TYPE_CHECKING:
    from rich.table import Table


def printed(outcome: Outcome) -> "Table":
    """A line for each network: under each share its interval, under the parameters the training time."""
    from rich import box
    from rich.table import Table

    tests = outcome.contest.tests
    made = Table(
        *("network", *tests, "dead", "dynamics", "parameters"),
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    made.columns[-1].overflow = "fold"
    for row in outcome.rows:
        shares = [f"{percent(row.scores[test])}\n{interval(row.scores[test])}" for test in tests]
        dead = "–" if row.dead is None else f"{row.dead[0]} of\n{row.dead[1]}"
        dynamics = "–" if row.dynamics is None else f"{row.dynamics:.2f}"
        name = row.name + ("\n+ decoder" if row.decoder else "")
        made.add_row(name, *shares, dead, dynamics, f"{row.parameters:,}\n{row.seconds:.0f} s")
    return made
