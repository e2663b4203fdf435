"""Wall time and peak memory of several candidates, interleaved in one run so that noise hits all alike."""

import ctypes
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """Least and median seconds of a call, and the memory it added at its peak."""

    seconds: float
    median: float
    megabytes: float


def measure(candidates: Mapping[str, Callable[[], object]], repeats: int = 5) -> dict[str, Cost]:
    """Run every candidate `repeats` times, in turns."""
    peaks = {name: _peak(call) for name, call in candidates.items()}  # also the warm-up
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, call in candidates.items():
            gc.collect()
            begin = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begin)
    return {name: Cost(min(ts), statistics.median(ts), peaks[name]) for name, ts in times.items()}


def _peak(call: Callable[[], object]) -> float:
    """Growth of the resident set while `call` runs, in MB; the kernel keeps the high-water mark (Linux)."""
    call()
    gc.collect()
    marker = Path("/proc/self/clear_refs")
    if not marker.exists():
        return float("nan")
    ctypes.CDLL(None).malloc_trim(0)  # memory that an earlier candidate left with the allocator is not ours
    marker.write_text("5")
    before = _status("VmRSS")
    call()
    return _status("VmHWM") - before


def _status(key: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    return float("nan")
