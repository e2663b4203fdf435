"""One tree's process: it builds a workload and times one repetition on request, each answer a line of JSON."""

import gc
import json
import os
import sys
import time
from collections.abc import Iterable
from typing import Any

import torch

from benchmarks.measure import MARKER, Call, growth
from benchmarks.speed.__main__ import PARTS
from benchmarks.speed.result import Workload
from torchcaps.ops import native, release

SEED = 0
LONGEST_ERROR = 300  # characters


class Worker:
    """The workloads by part and name, and the calls of the one that is built, by mode and candidate."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        self.workloads = {f"{each.part}/{each.name}": each for each in workloads}
        self.calls: dict[str, Call] = {}

    def names(self) -> list[str]:
        """All workloads that this tree has."""
        return list(self.workloads)

    def build(self, name: str) -> list[str]:
        """Build a workload in place of the last, always from the same seed; returns its rows."""
        self.calls.clear()
        gc.collect()
        release()
        torch.manual_seed(SEED)
        found = self.workloads[name].calls()
        self.calls = {f"{mode}, {each}": call for mode, calls in found for each, call in calls.items()}
        return list(self.calls)

    def warm(self, row: str) -> dict[str, float | None]:
        """The peak memory of a call where the system tells, and its processor time when all is warm."""
        call = self.calls[row]
        call()
        megabytes = growth(call)[1] if MARKER.exists() else None
        call()
        return {"processor": self.time(row, 1)["processor"], "megabytes": megabytes}

    def time(self, row: str, count: int) -> dict[str, float]:
        """Seconds of a call by the wall's clock and of the processor, the mean of `count` calls in one go."""
        call = self.calls[row]
        gc.collect()
        wall, processor = time.perf_counter(), time.process_time()
        for _ in range(count):
            call()
        return {
            "wall": (time.perf_counter() - wall) / count,
            "processor": (time.process_time() - processor) / count,
        }

    def answer(self, request: list[Any]) -> dict[str, Any]:
        """What a method returns; an error is an answer too, since the other tree may still be asked."""
        name, *arguments = request
        try:
            return {"found": getattr(self, name)(*arguments)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:LONGEST_ERROR]}


def main() -> None:
    """Answer until the driver closes its end."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever prints is no answer
    torch.set_num_threads(1)
    passes = native.status()  # builds them
    worker = Worker(workload for make in PARTS.values() for workload in make(quick="--quick" in sys.argv))
    gc.collect()
    gc.freeze()
    print(json.dumps({"passes": passes, "torch": torch.__version__}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers, flush=True)
