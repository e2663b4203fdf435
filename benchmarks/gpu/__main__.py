"""On a card: check every routing against the plain pass, then measure the tables of docs/speed.md and write their page.

    python -m benchmarks.gpu [--device cuda] [--quick] [--match PATTERN …] [--out FOLDER]

Against the textbook, the textbook under torch.compile, and the plain passes. The page and the times of every round are
named for the card. With `--device cpu --quick` it is a dry run that shows that everything works, and measures nothing.
"""

import argparse
import datetime
import fnmatch
import gc
import re
import sys
import time
from pathlib import Path

import torch

from benchmarks.gpu.check import TOLERANCE, errors
from benchmarks.gpu.page import page
from benchmarks.gpu.parts import Where, workloads
from benchmarks.gpu.timing import measured
from benchmarks.measure import Effort
from benchmarks.speed.result import Run, save
from torchcaps import ops
from torchcaps._atomic import write_text


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
    todo = [w for w in workloads(quick=options.quick) if any(fnmatch.fnmatch(w.name, p) for p in options.match)]
    if not todo:
        parser.error(f"no workload matches {', '.join(options.match)}")
    passes = ops.status(options.device)
    print(f"{card_of(options.device)}: passes are {passes}", flush=True)
    if not _checked(options.device, quick=options.quick):
        sys.exit("The passes of this card are not right: please report the lines above. Nothing was measured.")
    facts = {"card": card_of(options.device), "torch": torch.__version__, "passes": passes, "quick": options.quick}
    run = Run({**facts, "date": datetime.datetime.now(datetime.UTC).date().isoformat()}, [])
    to = options.out / f"gpu-{re.sub(r'[^a-z0-9]+', '-', facts['card'].lower()).strip('-')}.json"
    effort = Effort(least=2, most=2, seconds=0.0) if options.quick else Effort()
    gc.collect()
    gc.freeze()  # what the imports left is no garbage: collections between rounds need not look at it
    where, begin = Where(options.device, options.quick), time.perf_counter()
    for number, workload in enumerate(todo, 1):
        run.rows.extend(measured(workload, where, effort))
        told = f"[{number:3d}/{len(todo)} {time.perf_counter() - begin:5.0f} s]"
        print(f"{told} measured {workload.part}: {workload.name}", flush=True)
        save(run, to)
    write_text(to.with_suffix(".md"), page(run))
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
