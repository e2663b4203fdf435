"""Draw faults, plant them until the time is up, and print those that no test noticed."""

import argparse
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import benchmarks.mutants as about
from benchmarks.mutants.draw import drawn
from benchmarks.mutants.fault import ROOT, Fault
from benchmarks.mutants.near import near
from benchmarks.mutants.plant import Copy, Outcome, preload
from benchmarks.mutants.score import TABLE, Score


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutants",
        description=about.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    today = int(f"{datetime.now(UTC):%Y%m%d}")
    parser.add_argument("paths", nargs="*", default=["torchcaps"], metavar="PATH", help="files or folders (torchcaps)")
    parser.add_argument("--seed", type=int, default=today, metavar="S", help="of the draw (the date, as in 20261120)")
    parser.add_argument("--number", type=int, default=60, metavar="N", help="how many faults to draw (60)")
    parser.add_argument("--minutes", type=float, default=30, metavar="M", help="after which to stop (30)")
    parser.add_argument("--append", action="store_true", help=f"add the score to {TABLE.relative_to(ROOT)}")
    options = parser.parse_args()
    if options.number < 1:
        parser.error(f"--number {options.number} is not allowed: it must be 1 or more")
    if not options.minutes > 0:
        parser.error(f"--minutes {options.minutes:g} is not allowed: it must be more than 0")
    for path in options.paths:
        if not modules(path):
            parser.error(f"{path} is not allowed: it must be a Python file of torchcaps/ or a folder with some")
    return options


def modules(path: str) -> list[Path]:
    """The Python files of the library that a file or a folder is, or has in it."""
    whole = (ROOT / path).resolve()
    found = sorted(whole.rglob("*.py")) if whole.is_dir() else [whole] * whole.is_file()
    return [file for file in found if file.suffix == ".py" and file.is_relative_to(ROOT / "torchcaps")]


def main() -> None:
    options = parsed()
    until = time.monotonic() + 60 * options.minutes
    files = dict.fromkeys(file for path in options.paths for file in modules(path))
    chosen = drawn(files, options.number, options.seed)
    found = dict(zip(chosen, tried(chosen, until), strict=False))
    survived = [fault for fault, outcome in found.items() if outcome.state == "survived"]
    for fault in survived:
        print(f"\n{fault.shown()}\n  not noticed by {' '.join(near(fault.file))}")
    score = Score(options.paths, options.seed, len(chosen), list(found.values()))
    print(f"\n{score}")
    if options.append:
        score.append()


def tried(faults: list[Fault], until: float) -> list[Outcome]:
    """What came of one after the other, as far as the time goes; the user may end it sooner."""
    preload()
    outcomes: list[Outcome] = []
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=ROOT / "build") as folder:
        copy = Copy(Path(folder, "copy"), until)
        try:
            for fault in faults:
                if time.monotonic() >= until:
                    break
                outcomes.append(copy.try_(fault))
                state, by = outcomes[-1]
                print(f"{len(outcomes)} of {len(faults)}: {state:9} {fault} {by and f'({by})'}".rstrip(), flush=True)
        except KeyboardInterrupt:
            print("stopped", flush=True)
    return outcomes


if __name__ == "__main__":
    main()
