"""Two processes train as one, and none waits for a dead one."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from benchmarks.kill import TORCHCAPS
from tests.train.alike import assert_alike
from torchcaps.train import checkpoint, fit
from torchcaps.train.run import CHECKPOINTS
from torchcaps.train.trajectory import FOLDER

# 37 images in batches of 9, which two cannot share evenly, and one of 1, so that one has none: 20 steps in four epochs.
SETTINGS = {"overfit": 37, "batch_size": 9, "precision": "64", "seed": 3, "average": 0.9, "judge_every": 5}
SETTINGS["callbacks"] = {"trajectory": {"images": [20, 60]}}
TRAIN = ["train", "sabour2017/capsnet", "--data", "glyphs", "--set", "width=0.04"]
TRAIN += [
    word
    for name, value in SETTINGS.items()
    for word in ("--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}")
]


def run(out, *options, launcher=()):
    command = [*launcher, TORCHCAPS, *TRAIN, "--epochs", "4", "--out", out, "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["epoch"] == 3, "one of them speaks for all"


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    out = tmp_path_factory.mktemp("ddp") / "alone"
    fit("sabour2017/capsnet", "glyphs", options={"width": 0.04}, epochs=4, out=out, quiet=True, **SETTINGS)
    return out


def same(one, other):
    assert_alike(one, other, rel=1e-9, lines=20 + 4)
    points = [dict(checkpoint.newest(folder / CHECKPOINTS)[0].record["callbacks"]) for folder in (one, other)]
    assert points[0] == points[1]
    assert [point[:2] for point in points[0]["trajectory"]] == [[3, 27], [8, 64]]
    for place in (CHECKPOINTS, FOLDER):
        _same_weights(one / place, other / place)


def _same_weights(one, other):
    ends = [checkpoint.newest(folder)[0].tensors for folder in (one, other)]
    assert ends[0].keys() == ends[1].keys()
    for name, tensor in ends[0].items():
        if name.startswith(("model.", "average.")):
            assert tensor.dtype == torch.float64
            torch.testing.assert_close(ends[1][name], tensor, rtol=1e-9, atol=1e-12, msg=lambda m, n=name: f"{n}: {m}")


def test_two_processes_equal_one(alone, tmp_path):
    run(tmp_path / "two", "--devices", "2")
    same(alone, tmp_path / "two")


def test_two_processes_of_torchrun_equal_one(alone, tmp_path):
    run(tmp_path / "two", launcher=[sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"])
    same(alone, tmp_path / "two")


@pytest.mark.parametrize("victim", ["child", "parent"])
def test_a_killed_process_ends_the_other(victim, tmp_path):
    without = ["--set", "reconstruction=none", "--set", "save_every=1"]
    command = [TORCHCAPS, *TRAIN, *without, "--epochs", "100000", "--devices", "2", "--out", tmp_path / "run"]
    parent = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _await(lambda: checkpoint.listed(tmp_path / "run" / CHECKPOINTS), parent)
        (child,) = _children(parent.pid)
        os.kill(child if victim == "child" else parent.pid, signal.SIGKILL)
        # Both hold the pipe: its end is the end of both.
        _, said = parent.communicate(timeout=60)
    finally:
        parent.kill()
    assert parent.returncode != 0
    assert "of this training stops" in said
    assert "--resume" in said
    assert "Traceback" not in said
    if victim == "child":
        assert parent.returncode == 1
    for path in checkpoint.listed(tmp_path / "run" / CHECKPOINTS):
        checkpoint.load(path)


def _children(pid):
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _await(done, process):
    until = time.monotonic() + 60
    while not done():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until, "it does not begin"
        time.sleep(0.05)
