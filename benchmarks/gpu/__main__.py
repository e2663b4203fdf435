"""On a card: check every routing against the plain pass, then measure layers and networks, and write a page about it.

    python -m benchmarks.gpu [--device cuda] [--quick] [--match PATTERN …] [--out FOLDER]

Against the textbook, the textbook under torch.compile, and the plain passes. The page and the times of every round are
named for the card. With `--device cpu --quick` it is a dry run that shows that everything works, and measures nothing.
"""

import argparse
import datetime
import fnmatch
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.gpu.check import TOLERANCE, errors
from benchmarks.gpu.workloads import workloads
from benchmarks.measure import Call, Cost, Effort, measure
from benchmarks.speed.layers import PLAIN, difference, step
from benchmarks.speed.result import OURS, TEXTBOOK, Mode, Row, Run, save
from benchmarks.speed.tables import against, by_mode, memory, milliseconds, table
from torchcaps import ops

COMPILED, PART = "textbook, compiled", "gpu"
MODES: tuple[Mode, ...] = ("train", "inference")


def measured(name: str, build: Callable[..., Any], device: str, effort: Effort, *, quick: bool) -> Iterator[Row]:
    """A workload in both modes, after a look whether ours computes what the textbook does."""
    theirs, ours, given = build()
    theirs, ours = theirs.to(device), ours.to(device)
    inputs = [t.detach().to(device).requires_grad_(t.requires_grad) for t in given]
    compiled = torch.compile(theirs, backend="eager" if quick else "inductor")
    forwards = {name: partial(way, *inputs) for name, way in ((TEXTBOOK, theirs), (COMPILED, compiled), (OURS, ours))}
    forwards[PLAIN] = partial(_plainly, ours, *inputs)
    error = difference(forwards[TEXTBOOK], forwards[OURS])
    leaves = [*ours.parameters(), *(t for t in inputs if t.requires_grad)]
    for mode in MODES:
        calls = {key: _waiting(step(mode, forward, leaves), device) for key, forward in forwards.items()}
        costs = measure(calls, effort)
        if device == "cuda":
            costs = {key: Cost(cost.times, _megabytes(calls[key])) for key, cost in costs.items()}
        yield Row(PART, name, mode, costs, {"error": error, "batch": len(inputs[0])})


def _plainly(way: nn.Module, *inputs: Tensor) -> tuple[Tensor, ...]:
    with ops.plainly():
        outs: tuple[Tensor, ...] = way(*inputs)
    return outs


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


def page(run: Run) -> str:
    """The tables of a run."""
    facts, rows = run.machine, []
    for name, modes in by_mode(run, PART).items():
        for mode, row in modes.items():
            times = [milliseconds(row, key) for key in (TEXTBOOK, COMPILED, PLAIN, OURS)]
            rows.append([name, mode, *times, against(row), against(row, COMPILED), memory(row)])
    told = f"{facts['card']}, torch {facts['torch']}, {facts['date']}; passes: {facts['passes']}."
    told = f"**A dry run with small sizes: no measurement.** {told}" if facts["quick"] else told
    header = (
        "workload",
        "",
        "textbook, ms",
        "compiled",
        "plain torch",
        "torchcaps",
        "× textbook",
        "× compiled",
        "memory",
    )
    return table(f"Speed on {facts['card']}", told, header, rows)


def card_of(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else "CPU"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--match", nargs="+", metavar="PATTERN", default=["*"], help="of workloads' names")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), metavar="FOLDER")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("torch finds no card here; --device cpu --quick makes a dry run")
    passes = ops.status(options.device)
    print(f"{card_of(options.device)}: passes are {passes}", flush=True)
    if not _checked(options.device, quick=options.quick):
        sys.exit("The passes of this card are not right: please report the lines above. Nothing was measured.")
    facts = {"card": card_of(options.device), "torch": torch.__version__, "passes": passes, "quick": options.quick}
    run = Run({**facts, "date": datetime.datetime.now(datetime.UTC).date().isoformat()}, [])
    to = options.out / f"gpu-{re.sub(r'[^a-z0-9]+', '-', facts['card'].lower()).strip('-')}.json"
    effort = Effort(least=2, most=2, seconds=0.0) if options.quick else Effort()
    for name, build in workloads(quick=options.quick).items():
        if any(fnmatch.fnmatch(name, pattern) for pattern in options.match):
            run.rows.extend(measured(name, build, options.device, effort, quick=options.quick))
            print(f"measured {name}", flush=True)
            save(run, to)
    to.with_suffix(".md").write_text(page(run))
    print(f"Wrote {to} and {to.with_suffix('.md').name}. To share them, open a pull request that adds both files.")


def _checked(device: str, *, quick: bool) -> bool:
    """Print the error of every case; whether all are small."""
    good = True
    for name, error in errors(device, quick=quick):
        fine = error <= TOLERANCE
        good = good and fine
        print(f"{'right' if fine else 'WRONG'}  {error:.1e}  {name}", flush=True)
    return good


if __name__ == "__main__":
    main()
