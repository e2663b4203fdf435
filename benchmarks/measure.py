"""Wall time and peak memory of several candidates, interleaved in one run so that noise hits all alike.

Every candidate keeps the times of all its rounds. A ratio is that of the least times; its interval is that of the
ratio of medians when rounds, in which all candidates run within the same moment, are drawn again and again.
"""

import ctypes
import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from torchcaps.ops import release

SAMPLE_SECONDS = 0.01  # a call shorter than this is repeated until a round takes it
DRAWS, INTERVAL = 2000, (5, 95)  # bootstrap resamples, and the percentiles reported
LEAST_MEGABYTES = 1.0  # the kernel counts pages in lots: below this, a growth of memory means nothing
MARKER = Path("/proc/self/clear_refs")

Call = Callable[[], object]


class Effort(NamedTuple):
    """How long to measure: until `seconds` are spent in calls, but for `least` rounds at least and `most` at most."""

    least: int = 4
    most: int = 25
    seconds: float = 4.0

    def brief(self) -> "Effort":
        """Less of it, for what is measured many times over."""
        return Effort(min(self.least, 3), self.most, self.seconds / 4)


class Cost(NamedTuple):
    """Seconds a call in each round, and the memory a call added at its peak (None where the system does not say)."""

    times: list[float]
    megabytes: float | None = None

    @property
    def seconds(self) -> float:
        """The least."""
        return min(self.times)


class Ratio(NamedTuple):
    """How many times one candidate's cost is another's, and between which bounds."""

    value: float
    low: float
    high: float


def measure(candidates: Mapping[str, Call], effort: Effort | None = None) -> dict[str, Cost]:
    """Run all candidates in turns, forwards and backwards, round after round."""
    effort = Effort() if effort is None else effort
    first = {name: _first(call) for name, call in candidates.items()}
    calls = {name: max(1, math.ceil(SAMPLE_SECONDS / seconds)) for name, (seconds, _) in first.items()}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    spent = 0.0
    for k in range(effort.most):
        if k >= effort.least and spent > effort.seconds:
            break
        for name in list(candidates)[:: -1 if k % 2 else 1]:
            gc.collect()
            times[name].append(_seconds(candidates[name], calls[name]))
            spent += times[name][-1] * calls[name]
    return {name: Cost(ts, first[name][1]) for name, ts in times.items()}


def ratio(of: Cost, to: Cost) -> Ratio:
    """How many times as long `of` takes as `to`."""
    rounds = np.array([of.times, to.times])
    drawn = np.random.default_rng(0).integers(rounds.shape[1], size=(DRAWS, rounds.shape[1]))
    medians = np.median(rounds[:, drawn], axis=-1)
    low, high = np.percentile(medians[0] / medians[1], INTERVAL)
    return Ratio(of.seconds / to.seconds, float(low), float(high))


def memory_ratio(of: Cost, to: Cost) -> float | None:
    """How many times as much memory `of` takes as `to`, which is taken to be `LEAST_MEGABYTES` at least."""
    if of.megabytes is None or to.megabytes is None:
        return None
    return of.megabytes / max(to.megabytes, LEAST_MEGABYTES)


def _seconds(call: Call, count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count


def _first(call: Call) -> tuple[float, float | None]:
    """Warm up, then seconds and growth of the resident set, in MB, which is the middle one of three."""
    call()
    if not MARKER.exists():
        return _seconds(call, 1), None
    seconds, megabytes = zip(*(growth(call) for _ in range(3)), strict=True)
    return min(seconds), statistics.median(megabytes)


def growth(call: Call) -> tuple[float, float]:
    """Seconds, and how far the resident set grows; the kernel keeps the high-water mark (Linux)."""
    gc.collect()
    release()  # what a candidate keeps for its next call counts, like what it takes anew
    ctypes.CDLL(None).malloc_trim(0)  # memory that an earlier candidate left with the allocator is not ours
    MARKER.write_text("5")
    before = _status("VmRSS")
    seconds = _seconds(call, 1)
    return seconds, _status("VmHWM") - before


def _status(key: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/self/status has no {key}")
