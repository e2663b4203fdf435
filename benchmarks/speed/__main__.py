"""Measure, and write the times of every round as JSON.

    python -m benchmarks.speed [--quick] [--only PART …] [--match PATTERN …] [--json FILE] [--threads N]

Parts: layers (routings against textbook twins), networks (whole ones of the issue), models (every paper's), scaling
(curves over children, parents, dimension, batch), peak (share of GEMM peak). A pattern is of workloads' names, as in
`--only layers --match 'dynamic*'`. A quick run shows that everything works, with small sizes; it measures nothing.
"""

import argparse
import fnmatch
import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from benchmarks.measure import Effort, memory_ratio, ratio
from benchmarks.speed import gemm, layers, networks, scaling
from benchmarks.speed.result import OURS, TEXTBOOK, Row, Run, Workload, machine, save

PARTS: dict[str, Callable[..., Iterator[Workload]]] = {
    layers.PART: layers.workloads,
    networks.PART: networks.workloads,
    networks.MODELS: networks.models,
    scaling.PART: scaling.workloads,
    gemm.PART: gemm.workloads,
}


def chosen(parts: list[str], patterns: list[str], *, quick: bool) -> list[Workload]:
    """The workloads of the parts whose names match a pattern; none at all is an error."""
    found = [workload for part in parts for workload in PARTS[part](quick=quick)]
    kept = [workload for workload in found if any(fnmatch.fnmatch(workload.name, p) for p in patterns)]
    if not kept:
        names = "\n  ".join(workload.name for workload in found)
        raise ValueError(f"no workload matches {', '.join(patterns)}: there are\n  {names}")
    return kept


def line(row: Row) -> str:
    """A row in one line: times, and ratios where the textbook ran."""
    times = "  ".join(f"{name} {cost.seconds * 1e3:.2f} ms" for name, cost in row.costs.items())
    told = f"{row.part:9s} {row.workload:34s} {row.mode:9s} {times}"
    if TEXTBOOK in row.costs and OURS in row.costs:
        base, mine = row.costs[TEXTBOOK], row.costs[OURS]
        found, memory = ratio(base, mine), memory_ratio(base, mine)
        told += f"  ×{found.value:.1f} ({found.low:.1f}–{found.high:.1f})"
        told += "" if memory is None else f", memory ÷{memory:.1f}"
    return told


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="PART", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--match", nargs="+", metavar="PATTERN", default=["*"])
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the result")
    parser.add_argument("--threads", type=int, metavar="N", help="torch's own number if not given")
    options = parser.parse_args()
    if options.threads is not None:
        if options.threads < 1:
            parser.error(f"--threads {options.threads} is not allowed: at least one is needed")
        torch.set_num_threads(options.threads)
    try:
        todo = chosen(options.only, options.match, quick=options.quick)
    except ValueError as error:
        parser.error(str(error))
    torch.manual_seed(0)
    gc.collect()
    gc.freeze()  # what the imports left is no garbage: collections between rounds need not look at it
    run, begin = Run(machine(quick=options.quick), []), time.perf_counter()
    effort = Effort(least=2, most=2, seconds=0.0) if options.quick else Effort()
    for number, workload in enumerate(todo, 1):
        for row in workload.run(effort):
            run.rows.append(row)
            print(f"[{number:3d}/{len(todo)} {time.perf_counter() - begin:4.0f} s] {line(row)}", flush=True)
        if options.json:
            save(run, options.json)


if __name__ == "__main__":
    main()
