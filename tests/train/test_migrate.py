"""A run that the first version wrote: it loads, goes on and answers.

`files/format-1` was written by torchcaps at commit 6240864:
`fit("mitterreiter2023/capsnet", "glyphs", options={"width": 0.04, "layers": 2, "reconstruction": "none"}, overfit=24,
batch_size=8, epochs=4, lr=0.01, schedule="one_cycle", reconstruction=0.001, save_every=2, deterministic=True)`.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from torchcaps import load_run
from torchcaps.cli import app
from torchcaps.infer import infer
from torchcaps.models import from_pretrained
from torchcaps.train import checkpoint
from torchcaps.train.migrate import FORMAT, MIGRATIONS, migrated
from torchcaps.train.run import CHECKPOINTS, MODEL, RUN, read_run

FILES = Path(__file__).parent / "files" / "format-1"
TRAIN = ["train", "mitterreiter2023/capsnet", "--data", "glyphs", "--epochs", "4", "--overfit", "24", "--deterministic"]
SET = ["width=0.04", "layers=2", "reconstruction=none", "batch_size=8", "lr=0.01", "lr_schedule=one_cycle",
       "reconstruction_weight=0.001", "save_every=2"]  # fmt: skip


@pytest.fixture
def old(tmp_path):
    return Path(shutil.copytree(FILES, tmp_path / "old"))


def invoke(*arguments):
    done = CliRunner().invoke(app, [str(word) for word in arguments])
    assert done.exit_code == 0, done.exception
    return done.stdout


def test_it_was_written_in_the_old_format():
    facts = json.loads((FILES / RUN).read_text())
    assert facts["format"] == 1
    assert {"schedule", "reconstruction"} <= facts["settings"].keys()
    assert sum(file.stat().st_size for file in FILES.rglob("*") if file.is_file()) < 100_000


def test_it_loads_under_the_new_names(old):
    run = load_run(old)
    assert (run.settings.lr_schedule, run.settings.reconstruction_weight) == ("one_cycle", 0.001)
    assert [entry["step"] for entry in run.history] == [3, 6, 9, 12]
    x = torch.rand(3, 1, 28, 28)
    assert torch.equal(infer(run.model, x).scores, infer(from_pretrained(old / MODEL), x).scores)
    settings = checkpoint.newest(old / CHECKPOINTS)[0].record["settings"]
    assert (settings["lr_schedule"], settings["reconstruction_weight"]) == ("one_cycle", 0.001)


def test_it_goes_on_to_where_the_old_version_got(old, capsys):
    """Its last checkpoint and its weights taken away: they are made again, and run.json is in today's format."""
    end = checkpoint.load(checkpoint.listed(old / CHECKPOINTS)[-1])
    checkpoint.listed(old / CHECKPOINTS)[-1].unlink()
    shutil.rmtree(old / MODEL)
    said = invoke(*TRAIN, *(word for pair in SET for word in ("--set", pair)), "--out", old, "--resume", "--json")
    assert json.loads(said)["step"] == 12
    again = checkpoint.newest(old / CHECKPOINTS)[0]
    assert again.record["format"] == json.loads((old / RUN).read_text())["format"] == FORMAT
    for name, tensor in end.tensors.items():
        torch.testing.assert_close(again.tensors[name], tensor, rtol=1e-3, atol=1e-5)
    assert read_run(old)[0].lr_schedule == "one_cycle"


def test_it_answers(old, tmp_path):
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (28, 28), dtype=np.uint8)).save(tmp_path / "x.png")
    for unfinished in (False, True):
        if unfinished:
            shutil.rmtree(old / MODEL)
        (answer,) = json.loads(invoke("predict", old, tmp_path / "x.png", "--json"))
        assert answer["class"] in "0123456789"


@pytest.mark.parametrize("unknown", [0, FORMAT + 1, "2", None, [1]])
def test_formats_nobody_knows(unknown):
    assert sorted(MIGRATIONS) == list(range(1, FORMAT)), "every older format leads to the next"
    with pytest.raises(ValueError, match=rf"its format is .*, and this version reads 1 to {FORMAT}"):
        migrated({}, unknown)


def test_own_images_of_both_sets_keep_the_rule_they_were_parted_by():
    """Beside whatever options they had; data with a name had no such rule."""
    own = {"data": "photos", "data_options": {"background": "black"}, "schedule": "cosine"}
    own |= {"validation_data": "more.npz", "validation_options": {"in_chans": 1}}
    rest = {"data": "photos", "data_options": {"background": "black", "rule": "names"}, "lr_schedule": "cosine"}
    rest |= {"validation_data": "more.npz", "validation_options": {"in_chans": 1, "rule": "names"}}
    assert migrated(own, 1) == rest
    plain = {"data": "affine_mnist", "data_options": {"source": "glyphs"}, "validation_data": "mnist"}
    assert migrated(plain, 2) == plain
    assert migrated({"data": "photos"}, 2) == {"data": "photos", "data_options": {"rule": "names"}}
    assert migrated(own, FORMAT) == own
