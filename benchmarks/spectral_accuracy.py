"""Does a network learn as well where its convolutions go through the spectrum? The same training, both ways.

    python -m benchmarks.spectral_accuracy [--seeds 3] [--json FILE] [--runs FOLDER]

The recipe is that of the shipped `sabour2017/capsnet` (`benchmarks.pretrain`), its spectral convolution forced on and
forced off. Networks are judged by all test images, once each. A training that was cut off goes on from its checkpoint
if its folder is kept.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from benchmarks.pretrain import RECIPES
from torchcaps._atomic import write_text
from torchcaps.data import load
from torchcaps.measures import accuracy
from torchcaps.train import fit

NAME = "sabour2017/capsnet"
WAYS = {"spectral": "1", "direct": "0"}
RESULT = Path(__file__).parent / "results" / "spectral-accuracy.json"
ALIKE = 0.002  # the most by which mean accuracies may differ


def trainings(seeds: int, known: Sequence[dict[str, Any]], runs: Path) -> Iterator[dict[str, Any]]:
    """Both ways, seed by seed, those left out that are known."""
    done = {(row["convolutions"], row["seed"]) for row in known}
    for seed in range(seeds):
        for way, switch in WAYS.items():
            if (way, seed) not in done:
                os.environ["TORCHCAPS_SPECTRAL"] = switch
                yield {"convolutions": way, "seed": seed, **train(seed, runs / f"{way}-{seed}")}


def train(seed: int, folder: Path) -> dict[str, Any]:
    """One training by the recipe, judged."""
    recipe = dict(RECIPES[NAME])
    run = fit(NAME, recipe.pop("data"), out=folder, resume=True, seed=seed, **recipe)
    score = accuracy(run.model, load("mnist", "test"))
    return {
        "validation_accuracy": run.history[-1]["validation_accuracy"],
        "test_accuracy": score.value,
        "seconds": round(sum(epoch.get("seconds", 0.0) for epoch in run.history), 1),
        "threads": torch.get_num_threads(),
    }


def difference(rows: Sequence[dict[str, Any]]) -> float:
    """Mean accuracy of the spectral way less that of the direct one.

    >>> rows = {"spectral": 0.75, "direct": 0.5}
    >>> difference([{"convolutions": way, "test_accuracy": share} for way, share in rows.items()])
    0.25
    """
    spectral, direct = (mean(row["test_accuracy"] for row in rows if row["convolutions"] == way) for way in WAYS)
    return spectral - direct


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=RESULT)
    parser.add_argument("--runs", type=Path, help="where trainings lie, or are to be kept")
    options = parser.parse_args()
    rows = json.loads(options.json.read_text()) if options.json.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        for row in trainings(options.seeds, rows, options.runs or Path(folder)):
            rows.append(row)
            print(json.dumps(row), flush=True)
            write_text(options.json, json.dumps(rows, indent=2) + "\n")
    found = difference(rows)
    print(f"spectral less direct: {100 * found:+.2f} points; at most {100 * ALIKE:.1f} either way are allowed")
    if abs(found) > ALIKE:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
