"""Write the tables and the picture of a stored run.

    python -m benchmarks.speed.report benchmarks/results/speed.json [--out docs]

Makes speed.md and speed.png. Nothing is measured here.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import spectral_accuracy
from benchmarks.speed.plot import draw
from benchmarks.speed.result import Run, load
from benchmarks.speed.tables import SECTIONS, table
from torchcaps._atomic import write_text

INTRODUCTION = """# Speed

Written by `python -m benchmarks.speed.report` from `{source}`; `make bench-speed` measures again and rewrites both.

{machine}

*Textbook* is the code everyone writes: explicit votes, einsum and softmax, the same parameters, and no value computed
that no result needs. Before anything is timed, both are compared. A figure is textbook ÷ torchcaps of the least wall
times, candidates taking turns in one process; in brackets the 5–95 % interval of the ratio of medians, by drawing the
rounds again (on a busy machine the figure may lie outside). Memory is the growth of the resident set at its peak, the
middle one of three. A training call of a layer is the forward pass and all gradients; a training step of a network has
its loss, its decoder and Adam besides.
"""


def write(run: Run, source: str, out: Path) -> None:
    """The page and its picture."""
    out.mkdir(parents=True, exist_ok=True)
    parts = [INTRODUCTION.format(source=source, machine=machine_line(run))]
    if draw(run, out / "speed.png"):
        parts.append("![Ratios to the textbook, and how time grows](speed.png)\n")
    parts += [text for section in SECTIONS if (text := section(run))]
    parts.append(learned(json.loads(spectral_accuracy.RESULT.read_text())))
    write_text(out / "speed.md", "\n".join(parts))


def learned(trainings: Sequence[dict[str, Any]]) -> str:
    """Whether a network learns as well where its convolutions go through the spectrum."""
    ways = list(spectral_accuracy.WAYS)
    by_seed = {(row["seed"], row["convolutions"]): row for row in trainings}
    cells = [[by_seed[seed, way] for way in ways] for seed in sorted({row["seed"] for row in trainings})]
    rows = [
        [str(found[0]["seed"]), *(f"{row['test_accuracy']:.2%} in {row['seconds']:.0f} s" for row in found)]
        for found in cells
    ]
    text = (
        "The recipe of the shipped `sabour2017/capsnet`, a quarter as wide; every convolution that can be is forced "
        "through the frequency domain, or none: accuracy on the 10,000 test digits, and seconds of one thread on a "
        f"busy machine. Mean difference: {100 * spectral_accuracy.difference(trainings):+.2f} points. Made by "
        "`python -m benchmarks.spectral_accuracy`."
    )
    return table("Learning through the spectrum", text, ("seed", *ways), rows)


def machine_line(run: Run) -> str:
    """Where and when it was measured."""
    facts = run.machine
    features = [name for key, name in (("avx2", "AVX2"), ("avx512", "AVX-512"), ("bf16", "bf16")) if facts[key]]
    missing = [name for key, name in (("avx512", "AVX-512"), ("bf16", "bf16")) if not facts[key]]
    told = f"{facts['processor']} with {', '.join(features) or 'no vector features known'}"
    told += f" (no {', no '.join(missing)})" if missing else ""
    told += f", {facts['threads']} threads, torch {facts['torch']}, Python {facts['python']}, {facts['date']}; "
    told += f"passes: {facts['passes']}."
    return f"**A quick run with small sizes: no measurement.** {told}" if facts["quick"] else told


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("result", type=Path, metavar="FILE")
    parser.add_argument("--out", type=Path, default=Path("docs"), metavar="FOLDER")
    options = parser.parse_args()
    if not options.result.is_file():
        parser.error(
            f"there is no file {options.result}: `python -m benchmarks.speed --json {options.result}` makes it"
        )
    write(load(options.result), options.result.as_posix(), options.out)


if __name__ == "__main__":
    main()
