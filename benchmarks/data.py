"""How many samples a second the generators make, and a sheet of each to look at.

    python -m benchmarks.data [--json FILE] [--sheet FILE]
    python -m benchmarks.data --photographs FILE    what it costs to load a folder of JPEGs (photograph_loading.py)

The training takes a few hundred to a few thousand images a second; a generator must never be what it waits for.
"""

import argparse
import json
import time
from pathlib import Path

import torch

from torchcaps._atomic import write_text
from torchcaps.data import GENERATORS, Augmented, Dataset, DataUnavailableError, Stored, load

WANTED = {"multi_mnist": 20_000, "diverse_multi_mnist": 20_000, "affine_mnist": 10_000}


def digits() -> tuple[str, Stored]:
    """MNIST, or glyphs where it cannot be had."""
    for name in ("mnist", "glyphs"):
        try:
            data = load(name, "train")
        except DataUnavailableError:
            continue
        assert isinstance(data, Stored)
        return name, data
    raise AssertionError("glyphs are always there")


def rate(data: Dataset, seconds: float = 3.0, batch: int = 1000) -> float:
    """Samples a second, in batches of `batch`."""
    index = torch.arange(batch)
    data.batch(index)
    begin, epoch = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        data.batch(index, epoch)
        epoch += 1
    return batch * epoch / (time.perf_counter() - begin)


def sheet(samples: dict[str, torch.Tensor], path: Path) -> None:
    """A picture with a row of samples for each data set."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    columns = 12
    figure, axes = plt.subplots(len(samples), columns, figsize=(columns, 1.15 * len(samples)))
    for row, (name, images) in zip(axes, samples.items(), strict=True):
        for axis, image in zip(row, images[:columns], strict=True):
            axis.imshow(image[0], cmap="gray", vmin=0, vmax=1)
            axis.set_axis_off()
        row[0].set_title(name, loc="left", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sheet", type=Path)
    parser.add_argument("--photographs", type=Path)
    options = parser.parse_args()
    if options.photographs:
        from benchmarks.photograph_loading import photographs

        found, good = photographs()
        write_text(options.photographs, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        raise SystemExit(not good)
    name, source = digits()
    glyphs = load("glyphs", "train")
    sets: dict[str, Dataset] = {name: source, "glyphs": glyphs, "2-pixel shift": Augmented(source)}
    sets |= {generator: build(source) for generator, build in GENERATORS.items()}
    rows = []
    for key, data in sets.items():
        found = rate(data)
        rows.append({"data": key, "source": name, "per_second": round(found), "wanted": WANTED.get(key)})
        print(f"{key:22s} {found:10,.0f} a second" + (f", at least {WANTED[key]:,} wanted" if key in WANTED else ""))
    if options.json:
        write_text(options.json, json.dumps({"threads": torch.get_num_threads(), "rates": rows}, indent=2) + "\n")
    if options.sheet:
        sheet({key: data.batch(torch.arange(12)).images for key, data in sets.items()}, options.sheet)
    raise SystemExit(any(row["wanted"] and row["per_second"] < row["wanted"] for row in rows))


if __name__ == "__main__":
    main()
