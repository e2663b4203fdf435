"""What a run leaves behind: rows of times, and the machine they were taken on."""

import datetime
import json
import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from benchmarks.measure import Call, Cost, Effort
from torchcaps.ops import native

Mode = Literal["train", "inference"]
TEXTBOOK, OURS = "textbook", "torchcaps"


class Row(NamedTuple):
    """One workload in one mode: the cost of every candidate, and whatever else its part notes."""

    part: str
    workload: str
    mode: Mode
    costs: dict[str, Cost]
    notes: dict[str, Any]


class Workload(NamedTuple):
    """Something to measure; nothing is built before `run`, or before `calls`: the library's own candidates alone."""

    part: str
    name: str
    run: Callable[[Effort], Iterable[Row]]
    calls: Callable[[], Iterable[tuple[Mode, dict[str, Call]]]]


class Run(NamedTuple):
    """A whole run."""

    machine: dict[str, Any]
    rows: list[Row]

    def find(self, part: str, workload: str | None = None, mode: Mode | None = None) -> list[Row]:
        """The rows of a part, perhaps of one workload or mode alone."""
        return [
            row
            for row in self.rows
            if row.part == part and workload in (None, row.workload) and mode in (None, row.mode)
        ]


def machine(*, quick: bool) -> dict[str, Any]:
    """What the figures depend on, and nothing that names the machine."""
    flags, name = _processor()
    return {
        "processor": name,
        "avx2": "avx2" in flags,
        "avx512": "avx512f" in flags,
        "bf16": bool(flags & {"avx512_bf16", "amx_bf16"}),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "passes": native.status(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "quick": quick,
    }


def save(run: Run, path: Path) -> None:
    """Write a run as JSON, a row a line, times to a tenth of a microsecond."""
    from torchcaps._atomic import write_text  # here: older trees, with which the workloads run too, lack it

    lines = [json.dumps({**row._asdict(), "costs": {k: _rounded(c) for k, c in row.costs.items()}}) for row in run.rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ",\n  ".join(lines)
    write_text(path, f'{{"machine": {json.dumps(run.machine)},\n "rows": [\n  {rows}\n]}}\n')


def load(path: Path) -> Run:
    """Read what `save` wrote."""
    stored = json.loads(path.read_text())
    rows = [Row(**{**row, "costs": {k: Cost(**c) for k, c in row["costs"].items()}}) for row in stored["rows"]]
    return Run(stored["machine"], rows)


def _rounded(cost: Cost) -> dict[str, Any]:
    megabytes = None if cost.megabytes is None else round(cost.megabytes, 2)
    return {"times": [round(t, 7) for t in cost.times], "megabytes": megabytes}


def _processor() -> tuple[set[str], str]:
    """The features and the name of the processor, as far as the system tells (Linux)."""
    source = Path("/proc/cpuinfo")
    lines = source.read_text().splitlines() if source.exists() else []
    known = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return set(known.get("flags", "").split()), known.get("model name", platform.machine())
