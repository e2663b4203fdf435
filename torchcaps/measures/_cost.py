"""What a call takes: seconds, and memory at its peak."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.benchmark import Timer


class Cost(NamedTuple):
    """Of one call: the least time, and the most bytes that were allocated during it and held at once."""

    seconds: float
    peak_bytes: int


def cost(call: Callable[[], object], *, device: str = "cpu", seconds: float = 0.2) -> Cost:
    """Time and peak memory of a call, warmed up.

    >>> cost(lambda: torch.zeros(1000).exp(), seconds=0.01).peak_bytes
    8000

    Args:
        device: where the call computes.
        seconds: for how long it is timed.
    """
    call()
    timer = Timer("call()", globals={"call": call}, num_threads=torch.get_num_threads())
    return Cost(min(timer.blocked_autorange(min_run_time=seconds).times), _peak(call, device))


def _peak(call: Callable[[], object], device: str) -> int:
    if device != "cpu":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        call()
        return torch.cuda.max_memory_allocated(device) - before
    with _quiet(), profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as seen:
        call()
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


@contextmanager
def _quiet() -> Iterator[None]:
    """Some builds of torch write a line to the terminal for every profile; it goes nowhere."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
