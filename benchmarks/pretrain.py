"""Train the small networks that ship with the package, and judge each once on the test images.

    python -m benchmarks.pretrain [NAME …] [--json benchmarks/results/pretrained.json]

Validation images, a tenth of the training ones, are for looking on; nothing is chosen by them, and nothing by the test
images. Weights are kept in half precision.
"""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from torchcaps._seal import SEAL, sealed
from torchcaps.data import load
from torchcaps.measures import measure
from torchcaps.models._pretrained import SHIPPED
from torchcaps.network import CONFIG, WEIGHTS
from torchcaps.train import fit

FAST = {"lr": 3e-3, "lr_schedule": "one_cycle", "batch_size": 100}
RECIPES: dict[str, dict[str, Any]] = {
    "sabour2017/capsnet": {"data": "mnist", "epochs": 3, "options": {"width": 0.25}, **FAST},
    "mitterreiter2023/capsnet": {
        "data": "mnist",
        "epochs": 1,
        "options": {"width": 0.25, "reconstruction": "none"},
        **FAST,
    },
    "chen2019/lenet": {"data": "mnist", "epochs": 2, "options": {}, **FAST},
    "peer2021/sign": {"data": "sign", "epochs": 20, "options": {"bias": True}, "lr": 5e-3, "batch_size": 256},
}


def pretrain(name: str) -> dict[str, Any]:
    """Train, judge, and lay the weights beside the package's code."""
    recipe = dict(RECIPES[name])
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = fit(name, recipe.pop("data"), out=folder, **recipe)
        seconds = time.perf_counter() - began
        test = measure(run.model, ["clean"], load(run.settings.data, "test"))["clean"]
        target = SHIPPED / name.replace("/", "--")
        shutil.rmtree(target, ignore_errors=True)
        run.model.save_pretrained(target)
    halve(target)
    return {
        "model": name,
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "options": run.settings.options,
        "recipe": RECIPES[name],
        "seconds": round(seconds, 1),
        "validation_accuracy": run.history[-1]["validation_accuracy"],
        "test_accuracy": test.value,
        "test_images": test.count,
        "bytes": (target / WEIGHTS).stat().st_size,
    }


def halve(folder: Path) -> None:
    """Half the size: floating numbers in 16 bits."""
    import hashlib

    tensors = load_file(folder / WEIGHTS)
    save_file({k: t.half() if t.is_floating_point() else t for k, t in tensors.items()}, folder / WEIGHTS)
    config = json.loads((folder / CONFIG).read_text())
    config["sha256"] = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    del config[SEAL]
    (folder / CONFIG).write_text(json.dumps(sealed(config), indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all if none is given: {', '.join(RECIPES)}")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/pretrained.json"))
    options = parser.parse_args()
    rows = {row["model"]: row for row in json.loads(options.json.read_text())} if options.json.exists() else {}
    for name in options.names or RECIPES:
        rows[name] = pretrain(name)
        print(json.dumps(rows[name]), flush=True)
        options.json.write_text(json.dumps(list(rows.values()), indent=2) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(2)
    main()
