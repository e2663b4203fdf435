"""A training is killed at random moments and resumed each time: does it end as if nothing had happened?

    python -m benchmarks.kill [--kills 20] [--seed 0] [--json FILE]

The kills are `kill -9` of a real `torchcaps train … --deterministic` that saves every second step: half of them while
it trains, a quarter while it saves, a quarter while it starts. After each, every checkpoint must be whole; at the end
weights, optimiser, history and log must equal those of a training left alone, bit for bit.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from torchcaps._atomic import write_text
from torchcaps.models import read_weights
from torchcaps.train import checkpoint, load_run
from torchcaps.train.log import LOG
from torchcaps.train.run import CHECKPOINTS, MODEL, RUN

TORCHCAPS = Path(sys.executable).with_name("torchcaps")
NETWORK = ("mitterreiter2023/capsnet", "--data", "glyphs", "--set", "width=0.1", "--overfit", "64")
SAVING = ("--set", "batch_size=16", "--set", "save_every=2", "--deterministic")
TIMES = ("seconds", "images_per_second")


def untimed(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines of a log or a history without what the clock says."""
    return [{name: value for name, value in entry.items() if name not in TIMES} for entry in entries]


def log_of(folder: Path) -> list[dict[str, Any]]:
    return untimed([json.loads(line) for line in (folder / LOG).read_text().splitlines()])


def differences(one: Path, other: Path) -> list[str]:
    """What differs between two trainings that have ended, to the last bit."""
    ends = [checkpoint.newest(folder / CHECKPOINTS)[0] for folder in (one, other)]
    if ends[0] is None or ends[1] is None:
        return ["no checkpoint"]
    first, second = ends
    found = sorted(first.tensors.keys() ^ second.tensors.keys())
    found += [name for name, t in first.tensors.items() if name in second.tensors and _differ(t, second.tensors[name])]
    if untimed(first.record["history"]) != untimed(second.record["history"]):
        found.append("history")
    if log_of(one) != log_of(other):
        found.append("log")
    kept = [folder for folder in (one, other) if (folder / MODEL).exists()]
    if len(kept) == 2:
        nets = [read_weights(folder / MODEL)[1] for folder in kept]
        found += [f"{MODEL}: {name}" for name in nets[0] if _differ(nets[0][name], nets[1][name])]
    return found


def _differ(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.dtype != other.dtype or one.shape != other.shape or one.tolist() != other.tolist()


def check_files(folder: Path) -> None:
    """Every file of a training that was killed can be read."""
    for path in checkpoint.listed(folder / CHECKPOINTS):
        checkpoint.load(path)
    if (folder / RUN).exists() and checkpoint.listed(folder / CHECKPOINTS):
        load_run(folder)


def experiment(folder: Path, kills: int, *, epochs: int, seed: int = 0) -> dict[str, Any]:
    """Train once in peace, once under fire; `differences` must stay empty."""
    peace, fire = folder / "peace", folder / "fire"
    began = time.perf_counter()
    process = _start(peace, epochs)
    _await_log(process, peace)
    startup = time.perf_counter() - began
    _finish(process)
    training = time.perf_counter() - began - startup
    draw = random.Random(seed)
    moments = []
    for k in range(kills):
        doing = ("training", "saving", "training", "starting")[k % 4]
        within = {"training": training / kills, "saving": 0.01, "starting": startup}[doing]
        moments.append(_kill(fire, epochs, doing, draw.random() * within))
        check_files(fire)
    _finish(_start(fire, epochs))
    return {"kills": moments, "startup": startup, "training": training, "differences": differences(peace, fire)}


def _kill(folder: Path, epochs: int, doing: str, delay: float) -> dict[str, Any]:
    """Resume, and kill some time after it started, began to train, or began to save."""
    before = _inode(folder)
    process = _start(folder, epochs)
    if doing != "starting":
        _await_log(process, folder, before)
    while doing == "saving" and process.poll() is None and not _unfinished(folder):
        time.sleep(0.001)
    time.sleep(delay)
    ended = process.poll() is not None
    process.kill()
    process.wait()
    steps = [int(path.stem.removeprefix("step-")) for path in checkpoint.listed(folder / CHECKPOINTS)]
    return {
        "while": "ended" if ended else doing,
        "delay": round(delay, 4),
        "checkpoints": steps,
        "unfinished": _unfinished(folder),
    }


def _unfinished(folder: Path) -> list[str]:
    return [path.name for path in (folder / CHECKPOINTS).glob(f"*{checkpoint.UNFINISHED}")]


def _start(folder: Path, epochs: int) -> subprocess.Popen[bytes]:
    command = [TORCHCAPS, "train", *NETWORK, *SAVING, "--epochs", str(epochs), "--out", folder, "--resume"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _finish(process: subprocess.Popen[bytes]) -> None:
    if process.wait():
        raise RuntimeError(f"{process.args!r} ended with {process.returncode}")


def _inode(folder: Path) -> int | None:
    """Of the log, which a training that goes on replaces when it begins."""
    try:
        return (folder / LOG).stat().st_ino
    except FileNotFoundError:
        return None


def _await_log(process: subprocess.Popen[bytes], folder: Path, before: int | None = None) -> None:
    while _inode(folder) in (before, None) and process.poll() is None:
        time.sleep(0.001)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = experiment(Path(folder), options.kills, epochs=options.epochs, seed=options.seed)
    for k, moment in enumerate(result["kills"], 1):
        torn = f", {' '.join(moment['unfinished'])} unfinished" if moment["unfinished"] else ""
        print(f"kill {k:2d} while {moment['while']}: checkpoints {moment['checkpoints']}{torn}")
    print("differences to a training left alone:", ", ".join(result["differences"]) or "none")
    if options.json:
        write_text(options.json, json.dumps(result, indent=2) + "\n")
    raise SystemExit(bool(result["differences"]))


if __name__ == "__main__":
    main()
