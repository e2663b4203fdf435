"""A stranger's run is data: it has no FIFO waited for, and no disk looked through."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from torchcaps.data import Inventory
from torchcaps.train import checkpoint, fit, foreign, load_run
from torchcaps.train.findings import kept
from torchcaps.train.fingerprint import write_inventory


@pytest.fixture
def trained(tmp_path):
    """A small training on photographs of its user's own."""
    rng = np.random.default_rng(0)
    for k in range(60):
        folder = tmp_path / "photos" / "ab"[k % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (28, 28, 3), dtype=np.uint8)).save(folder / f"{k}.png")
    options = {"steps": 2, "batch_size": 8, "image_size": 28, "quiet": True}
    fit("chen2019/lenet", str(tmp_path / "photos"), out=tmp_path / "run", **options)
    return load_run(tmp_path / "run")


def test_what_one_trained_oneself_is_judged_by_its_own_images(trained, tmp_path):
    assert len(trained.test_data()) > 0
    moved = tmp_path / "elsewhere"
    (tmp_path / "photos").rename(moved)
    (tmp_path / "photos").symlink_to(moved)
    assert len(trained.test_data()) > 0


@pytest.mark.parametrize("what", ["data", "validation_data"])
@pytest.mark.parametrize("place", ["/", "//", "home", "above home", "../../../../../../../../.."])
def test_no_disk_and_no_home_is_looked_through(trained, what, place, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "people" / "me"))
    (tmp_path / "people" / "me").mkdir(parents=True)
    monkeypatch.setattr(os, "walk", lambda *_, **__: pytest.fail("it was looked through"))
    place = {"home": str(Path.home()), "above home": str(tmp_path / "people")}.get(place, place)
    trained.settings = replace(trained.settings, **{what: place})
    with pytest.raises(ValueError, match=r"names .* as its images, which is no folder of images: it is not looked"):
        trained.test_data()


def test_far_more_files_than_it_noted_are_not_looked_through(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(foreign, "MORE", 0)
    assert len(trained.test_data()) > 0
    write_inventory(tmp_path / "run", Inventory({"a.png": "1"}))
    with pytest.raises(ValueError, match="has more than 4 files, far more than the images it noted"):
        trained.test_data()
    (tmp_path / "run" / "data.json").unlink()
    monkeypatch.setattr(foreign, "UNKNOWN", 61)
    with pytest.raises(ValueError, match="has more than 61 files"):
        trained.test_data()


def test_a_fifo_is_named_and_not_waited_for(trained, tmp_path):
    run = tmp_path / "run"
    os.mkfifo(run / "checkpoints" / "step-000000009.safetensors")
    with pytest.raises(
        ValueError, match=r"step-000000009\.safetensors is no file, but a folder, FIFO, socket or device"
    ):
        checkpoint.load(run / "checkpoints" / "step-000000009.safetensors")
    assert checkpoint.last_whole(run / "checkpoints").name == "step-000000002.safetensors"
    (run / "inspect").mkdir(exist_ok=True)
    os.mkfifo(run / "inspect" / "accuracy.json")
    assert kept(trained) == {}
    assert json.loads((run / "run.json").read_text())["seal"]
