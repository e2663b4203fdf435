"""The time and memory of every way to do a workload on a card, or why one cannot be had there."""

from collections.abc import Iterator

import torch

from benchmarks.gpu.parts import COMPILED, Ways, Where, Workload
from benchmarks.measure import Call, Cost, Effort, measure
from benchmarks.speed.result import Row

LACKING, FULL = "lacking", "out of memory"


def measured(workload: Workload, where: Where, effort: Effort) -> Iterator[Row]:
    """A workload in both modes; "lacking" notes the ways that could not be measured."""
    for mode, ways, notes in workload.prepare(where):
        calls, lacking = _tried(ways, where.device)
        costs = measure(calls, effort)
        if where.device == "cuda":
            costs = {key: Cost(cost.times, _megabytes(calls[key])) for key, cost in costs.items()}
        yield Row(workload.part, workload.name, mode, costs, notes | ({LACKING: lacking} if lacking else {}))


def _tried(ways: Ways, device: str) -> tuple[dict[str, Call], dict[str, str]]:
    """Those ways that run, and what keeps the others from it: too little memory or, if compiled, the compiler."""
    calls, lacking = dict[str, Call](), dict[str, str]()
    for key, make in ways.items():
        try:
            call = _waiting(make(), device)
            call()
            calls[key] = call
        except torch.OutOfMemoryError:
            lacking[key] = FULL
        except Exception as error:
            if key != COMPILED:
                raise
            lacking[key] = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        if key in lacking and device == "cuda":
            torch.cuda.empty_cache()
    return calls, lacking


def _waiting(call: Call, device: str) -> Call:
    """A call that ends when the card has done it."""

    def whole() -> None:
        call()
        if device == "cuda":
            torch.cuda.synchronize()

    return whole


def _megabytes(call: Call) -> float:
    """What a call added to the card's memory at its peak."""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    return (torch.cuda.max_memory_allocated() - before) / 2**20
