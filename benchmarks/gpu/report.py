"""Write docs/gpu.md: what was shown without a card, the compiled kernels and the model on paper.

python -m benchmarks.gpu.report [--out docs/gpu.md]
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.gpu import kernels, model
from benchmarks.gpu.cards import ARCHS
from benchmarks.gpu.cases import USUAL, Case, keys
from benchmarks.speed.tables import table
from torchcaps._atomic import write_text

KERNELS = Path("benchmarks/results/gpu-kernels.jsonl")
INTRODUCTION = Path(__file__).with_name("introduction.md")
KIB = 1024


def compiled() -> str:
    """The table of usual calls: for each card the most registers, the bytes spilled and the shared memory."""
    found = kernels.read(KERNELS)

    def cell(arch: str, case: Case, key: tuple[str, ...]) -> str:
        rows = found.get((arch, *key))
        if rows is None:
            return "–"
        registers, shared = (max(row[name] for row in rows) for name in ("registers", "shared"))
        spilled = sum(row["spilled"] for row in rows)
        return f"{registers} / {spilled} / {shared / KIB:.0f}"

    def rows() -> Iterator[list[str]]:
        for key, case in keys(["any"]):
            given = "" if case.options == USUAL[case.operator] else f"; {key[4]}"
            name = f"`{case.operator}`, {case.shape}, {case.kind}{given}"
            yield [name, *(cell(arch, case, key[1:]) for arch in ARCHS)]

    lines = list(rows())
    every, lacking = len(lines) * len(ARCHS), sum(line.count("–") for line in lines)
    limits = ", ".join(f"{name} {arch.shared // KIB}" for name, arch in ARCHS.items())
    text = (
        "Of all kernels of a call, forward and backward: the most registers of a thread / bytes that threads spill to "
        f"memory, summed / the most KiB of shared memory. A block may have, in KiB: {limits}. Each kernel alone is in "
        f"`{KERNELS}`. A kernel is compiled for the size of its tile: sizes in the same tile differ by masks alone, so "
        "one stands for all. Every tile and call of the papers' models, at a batch of 8, is here. Numbers other than "
        "float32 are compiled for three shapes: parents in one block, in several, and a convolution."
    )
    spilled = {key: total for key, rows in found.items() if (total := sum(row["spilled"] for row in rows))}
    if spilled:
        shapes, most = "; ".join(sorted({key[2] for key in spilled})), max(spilled.values())
        text += f" {len(spilled)} of {len(found)} spill, up to {most} bytes, all of these shapes: {shapes}."
    if lacking:
        text += f" Not in the table, –: {lacking} of {every}, not compiled yet."
    return table("Compiled for seven kinds of cards", text, ("call", *ARCHS), lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.report", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/gpu.md"), metavar="FILE")
    options = parser.parse_args()
    write_text(options.out, "\n".join([INTRODUCTION.read_text(), model.tables(), compiled()]))


if __name__ == "__main__":
    main()
