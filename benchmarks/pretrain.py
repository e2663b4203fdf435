"""Train the small networks that ship with the package, and judge each once on the test images.

    python -m benchmarks.pretrain [NAME …] [--json benchmarks/results/pretrained.json] [--runs FOLDER]

Recipes were chosen by validation images, a tenth of the training ones; nothing was by the test images. Weights are kept
in half precision, and judged as they are kept. What the explorer's card shows is measured in the same walks, and ships.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from torchcaps._atomic import replaced, write_text
from torchcaps._seal import SEAL, sealed
from torchcaps.data import load
from torchcaps.explorer.gallery import shipped_names
from torchcaps.explorer.health import WHAT, ship
from torchcaps.measures import AccuracyResult, inspect
from torchcaps.models import create_model
from torchcaps.models._pretrained import SHIPPED
from torchcaps.network import CONFIG, WEIGHTS
from torchcaps.train import fit

OUTSIDE, FEW = ("accuracy", "affine"), 1000  # measures by all test images; couplings are looked at for so many
FAST = {"lr": 3e-3, "lr_schedule": "one_cycle", "batch_size": 100}
RECIPES: dict[str, dict[str, Any]] = {
    "sabour2017/capsnet": {"data": "mnist", "epochs": 3, "options": {"width": 0.25}, **FAST},
    "mitterreiter2023/capsnet": {
        "data": "mnist",
        "epochs": 4,
        "augment": "shift",
        "options": {"width": 0.5, "conv_width": 0.75, "layers": 4},
        **FAST,
    },
    "gu2021/capsnet": {
        "data": "mnist",
        "epochs": 2,
        "options": {"width": 0.15, "routing": "em", "reconstruction": "none", "loss": "spread"},
        **FAST,
    },
    "tsai2020/inverted_simple": {
        "data": "mnist",
        "epochs": 3,
        "options": {"width": 0.125, "conv_width": 2.0},
        **FAST,
    },
    "chen2019/lenet": {"data": "mnist", "epochs": 2, "options": {}, **FAST},
    "peer2021/sign": {"data": "sign", "epochs": 20, "options": {"bias": True}, "lr": 5e-3, "batch_size": 256},
}


def pretrain(name: str, runs: Path) -> dict[str, Any]:
    """Train, lay the weights beside the package's code, and judge what lies there."""
    recipe = dict(RECIPES[name])
    run = fit(name, recipe.pop("data"), out=runs / name.replace("/", "--"), resume=True, **recipe)
    target = SHIPPED / name.replace("/", "--")
    shutil.rmtree(target, ignore_errors=True)
    run.model.save_pretrained(target)
    halve(target)
    return {
        "model": name,
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "options": run.settings.options,
        "recipe": RECIPES[name],
        "seconds": round(sum(epoch.get("seconds", 0.0) for epoch in run.history), 1),
        "validation_accuracy": run.history[-1]["validation_accuracy"],
        **judge(name),
    }


def judge(name: str) -> dict[str, Any]:
    """The shipped network on all test images; what the explorer's card needs is written beside the explorer."""
    data, net = load(RECIPES[name]["data"], "test"), create_model(name, pretrained=True)
    found = inspect(net, data, OUTSIDE)
    if name in shipped_names():
        few = data.select(torch.arange(FEW))
        ship(name, found | inspect(net, few, [what for what in WHAT if what not in OUTSIDE]))
    accuracy = found["accuracy"]
    assert isinstance(accuracy, AccuracyResult)
    size = (SHIPPED / name.replace("/", "--") / WEIGHTS).stat().st_size
    return {"test_accuracy": accuracy.score.value, "test_images": accuracy.count, "bytes": size}


def halve(folder: Path) -> None:
    """Half the size: floating numbers in 16 bits."""
    import hashlib

    tensors = load_file(folder / WEIGHTS)
    with replaced(folder / WEIGHTS) as part:
        save_file({k: t.half() if t.is_floating_point() else t for k, t in tensors.items()}, part)
    config = json.loads((folder / CONFIG).read_text())
    config["sha256"] = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    del config[SEAL]
    write_text(folder / CONFIG, json.dumps(sealed(config), indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all if none is given: {', '.join(RECIPES)}")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/pretrained.json"))
    parser.add_argument("--runs", type=Path, help="where trainings lie, or are to be kept; one that is done is taken")
    parser.add_argument("--judge", action="store_true", help="judge what ships, and train nothing")
    options = parser.parse_args()
    rows = {row["model"]: row for row in json.loads(options.json.read_text())} if options.json.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or RECIPES:
            found = judge(name) if options.judge else pretrain(name, options.runs or Path(folder))
            rows[name] = {**rows[name], **found} if options.judge else found
            print(json.dumps(rows[name]), flush=True)
            write_text(options.json, json.dumps([rows[each] for each in RECIPES if each in rows], indent=2) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(2)
    main()
