"""A network that the first version trained on a user's own images keeps the rules it was trained by, and says so."""

import json
import sys

import numpy as np
import pytest
from PIL import Image

from torchcaps import fit, load_run
from torchcaps._seal import SEAL, sealed
from torchcaps.cli import main
from torchcaps.data import load
from torchcaps.train.checkpoint import Checkpoint, listed, save
from torchcaps.train.checkpoint import load as load_checkpoint
from torchcaps.train.fingerprint import DATA
from torchcaps.train.run import CHECKPOINTS, RUN

NAME = "chen2019/lenet"
SMALL = {"options": {"width": 0.2}, "batch_size": 16, "quiet": True}
TEST = {"cat": {10, 8, 0, 7}, "dog": {7, 5, 8, 19}}  # what `load_folder` of commit 6240864 chose of twenty


@pytest.fixture
def photos(tmp_path):
    """Twenty pictures a class, each told from the others by its grey, wider than high."""
    for label, name in enumerate(TEST):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for k in range(20):
            Image.new("L", (30, 20), 100 * label + 5 * k).save(tmp_path / "photos" / name / f"{k}.png")
    return tmp_path / "photos"


def as_before(run):
    """A run as format 2 wrote it: no rule of parts, no `fit`, no note of the data."""
    facts = json.loads((run / RUN).read_text())
    del facts[SEAL]
    old = {name: value for name, value in facts["settings"].items() if name not in ("fit", "balance")}
    old["data_options"].pop("rule", None)
    (run / RUN).write_text(json.dumps(sealed({**facts, "format": 2, "settings": old})))
    for path in listed(run / CHECKPOINTS):
        found = load_checkpoint(path)
        step = found.record["step"]
        save(path.parent, step, Checkpoint({**found.record, "settings": old, "format": 2}, found.tensors))
    (run / DATA).unlink(missing_ok=True)


def values(data):
    """The grey of each image, at a place that no way of resizing changes."""
    return {int(value) for value in data.images[:, 0, 8, 8]}


def test_parts_by_names_and_pictures_squashed(photos):
    test, train = (load(photos, part, rule="names", image_size=17) for part in ("test", "train"))
    greys = {100 * label + 5 * k for label, name in enumerate(TEST) for k in TEST[name]}
    assert values(test) == greys
    assert len(train) == 32
    assert not values(train) & greys
    assert test.images.min() == min(greys)  # no bars
    assert load(photos, "test", rule="names").image_shape == (3, 64, 64)


@pytest.mark.filterwarnings("default:.*parted by the names")
def test_a_run_of_a_folder(photos, tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    told = {**SMALL, "image_size": 17, "deterministic": True}
    fit(NAME, photos, out=out, epochs=1, data_options={"rule": "names"}, **told)
    as_before(out)
    run = load_run(out)
    assert run.settings.data_options == {"rule": "names"}
    with pytest.warns(UserWarning, match="was parted by the names of its files, .* this training keeps to that"):
        test = run.test_data()
    assert len(test) == 8
    picture = np.random.default_rng(0).integers(0, 256, (20, 31, 3)).astype(np.uint8)
    Image.fromarray(picture).save(tmp_path / "x.png")
    squashed = np.asarray(Image.fromarray(picture).resize((17, 17)))
    assert np.array_equal(run.reading.read(tmp_path / "x.png"), np.moveaxis(squashed, -1, 0))
    assert "BICUBIC" in run.reading.metadata(run.classes)["resize"]
    again = fit(NAME, photos, out=out, epochs=2, resume=True, **told)  # as it was typed: no word of a rule
    assert again.settings.data_options == {"rule": "names"}
    assert again.history[-1]["epoch"] == 1
    monkeypatch.setattr(sys, "argv", ["torchcaps", "predict", str(out), str(tmp_path / "x.png")])
    main_quietly()
    assert "the first version trained this network: pictures are squashed for it" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["torchcaps", "evaluate", str(out)])
    main_quietly()
    assert "torchcaps: " in (said := capsys.readouterr().err)
    assert "Train anew to have parts that new images never move." in said


def main_quietly():
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code


def test_a_run_of_arrays_whose_test_images_were_learned_from(tmp_path):
    file, out = tmp_path / "d.npz", tmp_path / "run"
    np.savez(
        file, images=np.random.default_rng(0).integers(0, 256, (40, 17, 17)).astype(np.uint8), labels=np.arange(40) % 2
    )
    fit(NAME, file, out=out, epochs=1, data_options={"rule": "names"}, **SMALL)
    as_before(out)
    with pytest.warns(UserWarning, match="Its test images are those it was trained on: their accuracy says nothing"):
        assert len(load_run(out).test_data()) == 40


def test_a_run_of_named_data_is_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr("torchcaps.data.glyphs.COUNTS", {"train": 40, "test": 20})
    fit(NAME, "glyphs", out=tmp_path / "run", epochs=1, **SMALL)
    as_before(tmp_path / "run")
    assert load_run(tmp_path / "run").settings.data_options == {}
    assert len(load_run(tmp_path / "run").test_data()) == 20
