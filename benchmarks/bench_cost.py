"""What each artefact of the bench costs at `cpu` scale on a core of its own, from a few steps of each training.

    python -m benchmarks.bench_cost [ARTEFACT …]

The seconds that stand with the results are those of a wall clock beside other work. Here a training's steps are timed
by the processor's clock, for one seed of each row, and counted for all; what judging took is as it was stored. Looks
at validation images while a training goes on are left out.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from torchcaps._atomic import write_text
from torchcaps.bench import store
from torchcaps.train import Settings, fit

ROOT = Path(__file__).parents[1]
RESULTS, OUT = ROOT / "results/cpu", ROOT / "benchmarks/results/bench-cost.json"
FEW, MORE = 2, 8  # steps: the difference is free of what a training begins with


def trainings() -> dict[str, dict[str, Any]]:
    """Those that are stored, by name."""
    return {line["name"]: line for line in _lines(RESULTS / "trainings.jsonl")}


def seconds_a_step(settings: dict[str, Any]) -> float:
    """Processor time of a step of a training with these settings."""
    known = {field.name for field in fields(Settings)}
    values = {name: value for name, value in settings.items() if name in known}
    values |= {"until_accuracy": None, "judge_every": None}
    model, data, callbacks = values.pop("model"), values.pop("data"), values.pop("callbacks", {})
    spent = []
    for steps in (FEW, MORE):
        began = time.process_time()
        fit(model, data, **{**values, "steps": steps}, callbacks=callbacks, quiet=True)
        spent.append(time.process_time() - began)
    return max(0.0, spent[1] - spent[0]) / (MORE - FEW)


def cost(judgings: Iterable[dict[str, Any]], known: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Minutes of one core: of training, of judging, and both side by side on two."""
    judged, names = 0.0, set()
    for line in judgings:
        judged += line.get("seconds", 0.0)
        names |= set(line.get("trainings", ()))
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name in names & known.keys():
        rows[json.dumps({**known[name]["settings"], "seed": 0}, sort_keys=True)].append(known[name])
    trained = sum(seconds_a_step(row[0]["settings"]) * sum(r.get("steps", 0) for r in row) for row in rows.values())
    return {"training": trained / 60, "judging": judged / 60, "two_cores": (trained + judged) / 120}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artefacts", nargs="*")
    asked = parser.parse_args().artefacts
    torch.set_num_threads(1)
    known, found = trainings(), json.loads(OUT.read_text()) if OUT.is_file() else {}
    for path in sorted(RESULTS.glob("*.jsonl")):
        artefact = path.stem.replace("-", "/", 1)
        if path.stem != "trainings" and (not asked or artefact in asked):
            found[artefact] = {k: round(v, 1) for k, v in cost(_lines(path), known).items()}
            print(artefact, found[artefact], flush=True)
            write_text(OUT, json.dumps(found, indent=1) + "\n")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [line for line in store.read(path)[0] if line["state"] == store.DONE]


if __name__ == "__main__":
    main()
