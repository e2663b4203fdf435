"""`fit`: what it looks at, when it ends, what it refuses, and what it leaves."""

import json
import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from benchmarks.kill import differences, log_of
from tests.train.alike import assert_alike
from tests.train.separable import Separable, linear
from torchcaps import fit, load_run
from torchcaps.data import load
from torchcaps.models import create_model
from torchcaps.network import CapsNet
from torchcaps.train import checkpoint
from torchcaps.train.estimate import estimate
from torchcaps.train.learning_rate import SCHEDULES
from torchcaps.train.loop import Training
from torchcaps.train.run import CHECKPOINTS, MODEL, RUN

NAME = "mitterreiter2023/capsnet"
SMALL = {"options": {"width": 0.1, "layers": 2, "reconstruction": "none"}, "batch_size": 16, "quiet": True}


@pytest.fixture(autouse=True)
def _few_glyphs(monkeypatch):
    monkeypatch.setattr("torchcaps.data.glyphs.COUNTS", {"train": 200, "test": 50})


@pytest.fixture
def no_test_split(monkeypatch):
    """Whoever asks for the test split fails."""

    def guarded(name, split="train", **options):
        assert split == "train", "the test split must not be loaded"
        return load(name, split, **options)

    monkeypatch.setattr("torchcaps.train.splits.load", guarded)


# What it looks at


def test_validation_is_held_out_and_the_test_split_stays_shut(no_test_split, monkeypatch):
    """Every image of the training split is learned from or judged by, none is both."""
    learned, judged = [], []
    real = CapsNet.forward
    monkeypatch.setattr(
        CapsNet, "forward", lambda self, x, *a: (learned if self.training else judged).append(x) or real(self, x, *a)
    )
    fit(NAME, "glyphs", epochs=1, **SMALL)
    seen = [{image.numpy().tobytes() for images in batches for image in images} for batches in (learned, judged)]
    stored = load("glyphs").images.float() / 255
    every = {image.numpy().tobytes() for image in stored}
    assert [sum(map(len, batches)) for batches in (learned, judged)] == [180, 20]
    assert not seen[0] & seen[1]
    assert seen[0] | seen[1] == every
    test = load("glyphs", "test").images.float() / 255
    assert not every & {image.numpy().tobytes() for image in test}


def test_validation_of_ones_own():
    run = fit(linear(), Separable(), validation_data=Separable(6), epochs=1, quiet=True)
    assert "validation_accuracy" in run.history[-1]
    with pytest.raises(ValueError, match=r"validation=0.1 is not allowed for Separable: .*validation=0"):
        fit(linear(), Separable(), epochs=1, quiet=True)
    assert "validation_accuracy" not in fit(linear(), Separable(), validation=0.0, epochs=1, quiet=True).history[-1]


# When it ends


def test_until_accuracy_ends_early():
    settings = {"epochs": 50, "batch_size": 8, "lr": 0.2, "quiet": True}
    run = fit(linear(), Separable(), validation_data=Separable(10), until_accuracy=1.0, **settings)
    accuracies = [entry["validation_accuracy"] for entry in run.history]
    assert accuracies[-1] == 1.0
    assert all(a < 1 for a in accuracies[:-1])
    assert len(run.history) < 50
    assert run.history[-1]["step"] == 4 * len(run.history)


def test_the_training_accuracy_does_not_end_it(monkeypatch):
    monkeypatch.setattr(Training, "accuracy", lambda self, data: 0.0)
    run = fit(linear(), Separable(), validation_data=Separable(10), until_accuracy=0.9, epochs=5, lr=0.2, quiet=True)
    assert run.history[-1]["accuracy"] == 1.0
    assert len(run.history) == 5


def test_fast_dev_run_takes_two_batches_and_keeps_nothing(tmp_path):
    run = fit(NAME, "glyphs", out=tmp_path / "run", epochs=9, fast_dev_run=True, **SMALL)
    assert [entry["step"] for entry in run.history] == [2]
    assert run.directory is None
    assert not (tmp_path / "run").exists()


# What it refuses


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path, glyphs):
    out = tmp_path / "run"
    out.mkdir()
    fit(NAME, glyphs, out=out, epochs=1, **SMALL)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match=r"is not empty: go on with --resume"):
        fit(NAME, glyphs, out=out, epochs=2, **SMALL)
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="is a file: name a folder"):
        fit(NAME, glyphs, out=tmp_path / "file", epochs=1, **SMALL)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("rank", ["RANK", "LOCAL_RANK"])
def test_torchrun_does_not_write_over_a_training_either(tmp_path, monkeypatch, rank):
    (tmp_path / "mine").write_text("mine")
    monkeypatch.setenv(rank, "0")
    with pytest.raises(ValueError, match="is not empty"):
        fit(linear(), Separable(), out=tmp_path, validation=0.0, quiet=True)


def test_resuming_with_other_settings_is_refused_with_what_differs(tmp_path, glyphs):
    out = tmp_path / "run"
    fit(NAME, glyphs, out=out, epochs=1, lr=0.01, **SMALL)
    before = (out / RUN).read_bytes()
    settings = {**SMALL, "options": {**SMALL["options"], "width": 0.2}}
    with pytest.raises(ValueError, match="cannot be resumed with other settings") as refusal:
        fit(NAME, glyphs, out=out, epochs=2, lr=0.02, seed=4, resume=True, **settings)
    for part in ("lr was 0.01, now 0.02", "seed was 0, now 4", "'width': 0.1", "'width': 0.2"):
        assert part in str(refusal.value)
    assert "epochs" not in str(refusal.value)
    with pytest.raises(ValueError, match=r"data has changed: 1 added .'36 images given'.; 1 removed .'65 images"):
        fit(NAME, glyphs.select(torch.arange(40)), out=out, epochs=1, lr=0.01, resume=True, **SMALL)
    assert (out / RUN).read_bytes() == before


# What it leaves


def test_a_run_is_found_again(tmp_path, glyphs):
    out = tmp_path / "run"
    run = fit(NAME, glyphs, out=out, epochs=2, **SMALL)
    found = load_run(out)
    assert found.settings == run.settings
    assert found.history == run.history
    assert found.classes == glyphs.classes
    assert found.image_shape == (1, 28, 28)
    assert found.directory == out
    assert not found.model.training
    x = torch.rand(3, 1, 28, 28)
    with torch.no_grad():
        expected = run.model(x).scores
        assert torch.equal(found.model(x).scores, expected)
        for path in checkpoint.listed(out / CHECKPOINTS):
            path.write_bytes(b"damaged")
        assert torch.equal(load_run(out).model(x).scores, expected), "the folder of weights is enough"
    (out / MODEL / "config.json").unlink()
    with pytest.raises(ValueError, match="holds no checkpoint that can be read yet"):
        load_run(out)
    with pytest.raises(FileNotFoundError, match=r"it has no run\.json"):
        load_run(tmp_path)
    (out / RUN).write_text("{}")
    with pytest.raises(ValueError, match=r"run.json cannot be read"):
        load_run(out)
    with pytest.raises(ValueError, match="trained on data given as an object"):
        run.test_data()


def test_the_test_images_of_a_run_are_resized_alike(tmp_path):
    run = fit(NAME, "glyphs", image_size=32, overfit=16, epochs=1, **SMALL)
    assert run.image_shape == run.test_data().image_shape == (1, 32, 32)
    with pytest.raises(ValueError, match=r"image_size=32 is not allowed for sign"):
        fit("peer2021/sign", "sign", image_size=32, quiet=True)


def test_the_log_tells_each_step(tmp_path, glyphs):
    fit(NAME, glyphs, out=tmp_path / "run", epochs=2, lr_schedule="steps", lr=0.5, **SMALL)
    lines = log_of(tmp_path / "run")
    steps = [line for line in lines if line["event"] == "step"]
    assert [line["step"] for line in steps] == list(range(1, 11))
    assert {"loss", "accuracy", "lr", "epoch"} <= steps[0].keys()
    assert [line["lr"] for line in steps] == pytest.approx([0.5] * 5 + [0.05] * 3 + [0.005] * 2)
    epochs = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    epochs = [line for line in epochs if line["event"] == "epoch"]
    assert [line["step"] for line in epochs] == [5, 10]
    assert all(line["images_per_second"] > 0 and 0 <= line["validation_accuracy"] <= 1 for line in epochs)
    assert epochs[0]["loss"] == pytest.approx(steps[4]["loss"])


def test_progress_for_people(glyphs, capsys):
    fit(NAME, glyphs, epochs=1, **{**SMALL, "quiet": False})
    said = capsys.readouterr()
    assert said.out == ""
    for part in ("epoch 1: loss", "accuracy", "validation", "images/s"):
        assert part in said.err
    fit(NAME, glyphs, epochs=1, **SMALL)
    assert capsys.readouterr() == ("", "")


def test_schedules_begin_and_end_where_the_papers_say():
    ends = {"constant": (1, 1), "exponential": (1, 0.01), "steps": (1, 0.01), "cosine": (1, 0), "one_cycle": (0.04, 0)}
    assert ends.keys() == SCHEDULES.keys()
    for name, (first, last) in ends.items():
        assert SCHEDULES[name](0.0) == pytest.approx(first)
        assert SCHEDULES[name](1.0) == pytest.approx(last, abs=1e-12)
        assert all(0 <= SCHEDULES[name](k / 100) <= 1.0 for k in range(101))


def test_schedules_in_between():
    """The drops to the epoch: of tsai2020's 350, after 150 and 250; halves and quarters of the others by hand."""
    rates = [SCHEDULES["steps"](epoch / 350) for epoch in range(350)]
    assert rates == [1.0] * 150 + [0.1] * 100 + [0.01] * 100
    assert {SCHEDULES["constant"](epoch / 350) for epoch in range(350)} == {1.0}
    assert [SCHEDULES["exponential"](share) for share in (0.25, 0.5, 0.75)] == pytest.approx([0.316228, 0.1, 0.0316228])
    assert [SCHEDULES["cosine"](share) for share in (1 / 3, 0.5, 2 / 3)] == pytest.approx([0.75, 0.5, 0.25])
    halfway = [SCHEDULES["one_cycle"](share) for share in (0.15, 0.3, 0.65, 0.3 + 0.7 * 2 / 3)]
    assert halfway == pytest.approx([0.52, 1.0, 0.5, 0.25])


def test_tensorboard_if_asked(tmp_path, glyphs):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    fit(NAME, glyphs, out=tmp_path / "run", epochs=1, tensorboard=True, **SMALL)
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    assert [event.step for event in events.Scalars("step/loss")] == [1, 2, 3, 4, 5]
    assert {"step/accuracy", "step/lr", "epoch/validation_accuracy"} <= set(events.Tags()["scalars"])


def test_a_cost_estimate_is_plausible(monkeypatch):
    """That of the quickest step after the first, by a clock for which they take 1, 3, 2 and 4 seconds."""
    clock = iter([0.0, 1.0, 10.0, 13.0, 20.0, 22.0, 30.0, 34.0])
    monkeypatch.setattr("torchcaps.train.estimate.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    cost = estimate(NAME, "glyphs", options={"width": 0.1}, batch_size=16, epochs=3, until_accuracy=0.9)
    net = create_model(NAME, num_classes=10, image_size=28, width=0.1)
    assert cost.parameters == sum(p.numel() for p in net.parameters())
    assert (cost.images, cost.steps) == (180, 3 * 12)
    assert (cost.seconds_per_step, cost.seconds) == (2.0, 72.0)
    [peak] = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
    assert cost.megabytes == pytest.approx(int(peak) / 1024, rel=0.05)


def test_deterministic_is_the_same_twice_and_leaves_torch_as_it_was(tmp_path, glyphs):
    for name in ("one", "two"):
        fit(NAME, glyphs, out=tmp_path / name, epochs=1, deterministic=True, **SMALL)
    assert differences(tmp_path / "one", tmp_path / "two") == []
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(("precision", "dtype"), [("bf16", "bfloat16"), ("32", "float32"), ("64", "float64")])
def test_bfloat16_and_float64(precision, dtype):
    """It is computed in that precision, trained or judged; weights are kept in no less than single."""
    net, seen = linear(), {True: set(), False: set()}
    net.body[-1].register_forward_hook(lambda module, _, out: seen[module.training].add(str(out.dtype)))
    run = fit(net, Separable(), validation_data=Separable(6), epochs=1, precision=precision, quiet=True)
    assert seen == {True: {f"torch.{dtype}"}, False: {f"torch.{dtype}"}}
    assert str(next(net.parameters()).dtype) == ("torch.float64" if precision == "64" else "torch.float32")
    assert math.isfinite(run.history[-1]["loss"])


def test_the_decoder_is_left_out_if_it_weighs_nothing(glyphs):
    torch.manual_seed(0)
    net = create_model("sabour2017/capsnet", width=0.05)
    before = {name: t.clone() for name, t in net.state_dict().items()}
    fit(net, glyphs, epochs=1, reconstruction_weight=0.0, batch_size=16, quiet=True)
    for name, after in net.state_dict().items():
        assert torch.equal(after, before[name]) == name.startswith("decoder."), name


def test_compiled_in_a_process_of_its_own(tmp_path):
    """Without the tests' type checker, which stands in the way, and without the C++ compiler, which is slow."""
    code = """
import functools, torch
torch.compile = functools.partial(torch.compile, backend="aot_eager")
from torchcaps import fit
from torchcaps.data.glyphs import load_glyphs
for name in ("plain", "compiled"):
    settings = {"options": {"width": 0.04}, "batch_size": 18, "epochs": 1, "quiet": True, "compile": name == "compiled"}
    run = fit("sabour2017/capsnet", load_glyphs("train", 40), out=name, **settings)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
    assert_alike(tmp_path / "plain", tmp_path / "compiled", rel=1e-4, lines=3)
    load_run(tmp_path / "compiled")
