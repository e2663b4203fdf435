"""A workload in both trees by turns: old, new, new, old, …, so that the two times of a pair are adjacent."""

import math
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal, NamedTuple, Protocol

from benchmarks.measure import SAMPLE_SECONDS, Ratio
from benchmarks.paired.interval import FEWEST, median, passes
from benchmarks.paired.process import AnswerError

Clock = Literal["processor", "wall"]
CLOCKS: tuple[Clock, ...] = ("processor", "wall")
OLD, NEW = 0, 1


class Asked(Protocol):
    """A process, or what stands for one in a test."""

    def ask(self, method: str, *arguments: Any) -> Any: ...


class Pairs(NamedTuple):
    """A row: by clock the seconds of old and new in every pair, and the peak memory of a call in megabytes."""

    workload: str
    row: str
    times: dict[Clock, list[tuple[float, float]]]
    megabytes: tuple[float | None, float | None]

    def ratio(self, clock: Clock) -> Ratio:
        """How many times as long the new tree takes as the old."""
        return median([new / old for old, new in self.times[clock]])

    def passes(self, clock: Clock) -> bool:
        return passes(self.ratio(clock))

    def joined(self, more: "Pairs") -> "Pairs":
        """With the pairs of another measurement of the same row."""
        return self._replace(times={clock: [*times, *more.times[clock]] for clock, times in self.times.items()})


class Apart(NamedTuple):
    """A workload or row that cannot be compared, and why; a fault if the new tree fails where the old does not."""

    workload: str
    row: str
    why: str
    fault: bool = False


class Plan(NamedTuple):
    """At most so many pairs a row, fewer if its seconds are spent, but never too few for an interval."""

    pairs: int
    seconds: float = math.inf
    now: Callable[[], float] = time.perf_counter


def compared(
    both: tuple[Asked, Asked], workload: str, plan: Plan, only: Collection[str] = ()
) -> Iterator[Pairs | Apart]:
    """All rows of a workload, or some; its seconds are shared out among those that are still to come."""
    begin = plan.now()
    built = [_tried(each, "build", workload) for each in both]
    if any(isinstance(each, AnswerError) for each in built):
        yield _apart(workload, "", built)
        return
    old, new = built
    for row in [*old, *(row for row in new if row not in old)]:
        if not only and (row not in old or row not in new):
            yield Apart(workload, row, f"only in the {'old' if row in old else 'new'} tree")
    rows = [row for row in new if row in old and (not only or row in only)]
    for number, row in enumerate(rows):
        left = plan.seconds - (plan.now() - begin)
        yield _paired(both, workload, row, plan._replace(seconds=left / (len(rows) - number)))


def _paired(both: tuple[Asked, Asked], workload: str, row: str, plan: Plan) -> Pairs | Apart:
    begin = plan.now()
    first = [_tried(each, "warm", row) for each in both]
    if any(isinstance(each, AnswerError) for each in first):
        return _apart(workload, row, first)
    count = max(1, math.ceil(SAMPLE_SECONDS / max(min(each["processor"] for each in first), 1e-6)))
    times: dict[Clock, list[tuple[float, float]]] = {clock: [] for clock in CLOCKS}
    for k in range(plan.pairs):
        if k >= FEWEST and plan.now() - begin > plan.seconds:
            break
        order = (OLD, NEW) if k % 2 == 0 else (NEW, OLD)
        taken = {which: both[which].ask("time", row, count) for which in order}
        for clock in CLOCKS:
            times[clock].append((taken[OLD][clock], taken[NEW][clock]))
    return Pairs(workload, row, times, (first[OLD]["megabytes"], first[NEW]["megabytes"]))


def _tried(one: Asked, *request: Any) -> Any:
    try:
        return one.ask(*request)
    except AnswerError as error:
        return error


def _apart(workload: str, row: str, found: list[Any]) -> Apart:
    """What failed in one tree or in both; only what fails in the new tree alone became worse."""
    failed = [isinstance(each, AnswerError) for each in found]
    said = "; ".join(f"{name} tree: {each}" for name, each, no in zip(("old", "new"), found, failed, strict=True) if no)
    return Apart(workload, row, said, fault=failed == [False, True])
