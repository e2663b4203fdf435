"""Pilot trainings: how fast a network learns, by validation images alone, on seeds that no result of the bench uses.

    python -m benchmarks.recipes gu2021-pairs --work FOLDER

Each trial of a list (`benchmarks/recipes/NAME.toml`) is a training; its line in `benchmarks/results/recipes.jsonl` has
the settings, the validation accuracy at each judging, and the processor time. The settings of the scale `trained` are
chosen from these lines. A trial that is finished is not run again, one that was stopped goes on.
"""

import argparse
import json
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from torchcaps.bench.jobs import digest, told
from torchcaps.train import Settings, fit

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "recipes.jsonl"
FIRST_SEED = 1000
"""Pilot seeds begin here; the seeds of results begin at 0."""


def trials(path: Path) -> Iterator[Settings]:
    """Every combination of the lists in a recipe file: `common` settings, and a table `trials` of settings by name."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    for trial in found["trials"]:
        merged: dict[str, Any] = {**found["common"], **trial}
        merged["options"] = {**found["common"].get("options", {}), **trial.get("options", {})}
        for seed in merged.pop("seeds", [FIRST_SEED]):
            if seed < FIRST_SEED:
                raise ValueError(f"seed {seed} is not allowed for a pilot: seeds from {FIRST_SEED} on")
            yield Settings.from_json({**merged, "seed": seed})


def run(settings: Settings, work: Path) -> dict[str, Any]:
    """Train, or go on, and tell what the validation images say."""
    name = digest(told(settings))
    began = time.process_time()
    trained = fit(**settings.to_json(), out=work / name, resume=True, quiet=True)
    curve = [[e["step"], e["validation_accuracy"]] for e in trained.history if "validation_accuracy" in e]
    seconds = round(time.process_time() - began, 1)
    return {"name": name, "settings": told(settings), "curve": curve, "processor_seconds": seconds}


def finished() -> set[str]:
    """The names of the trials that have a line."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.is_file() else []
    return {json.loads(line)["name"] for line in lines}


def main() -> None:
    """Run what is left of the lists that are named, one after the other; several processes share them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lists", nargs="+")
    parser.add_argument("--work", type=Path, required=True, help="folder for checkpoints")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    asked.work.mkdir(parents=True, exist_ok=True)
    for settings in [s for name in asked.lists for s in trials(HERE / "recipes" / f"{name}.toml")]:
        name = digest(told(settings))
        try:
            with FileLock(asked.work / f"{name}.lock", timeout=0):
                if name in finished():
                    continue
                line = run(settings, asked.work)
                with FileLock(asked.work / "results.lock"), RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line, sort_keys=True) + "\n")
                print(settings.model, settings.options, settings.lr, line["curve"][-1], flush=True)
        except Timeout:
            continue


if __name__ == "__main__":
    main()
