"""A user's own images in a training: what it says first, what it refuses, and that noise is learned by heart only."""

import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from torchcaps import fit, load_run
from torchcaps.data import Augmented, Balanced, look_through
from torchcaps.measures import accuracy
from torchcaps.models import model_info
from torchcaps.train import Settings
from torchcaps.train.fingerprint import DATA
from torchcaps.train.own import own_images, own_parts, remarks, size_of, trained_before
from torchcaps.train.splits import load_part, load_splits
from torchcaps.train.summary import summary

NAME = "gu2021/convnet_avg"
SMALL = {"options": {"width": 0.02}, "batch_size": 16, "epochs": 1, "quiet": True}


@pytest.fixture
def photos(tmp_path):
    """60 cats, 30 dogs and 12 owls, in pictures of 20×10 and 30×30."""
    rng = np.random.default_rng(0)
    for name, count in (("cat", 60), ("dog", 30), ("owl", 12)):
        for k in range(count):
            file = tmp_path / "photos" / name / f"{k}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            size = (10, 20) if k % 2 else (30, 30)
            Image.fromarray(rng.integers(0, 256, (*size, 3)).astype(np.uint8)).save(file)
    return tmp_path / "photos"


def said(data, **values):
    settings = Settings(NAME, str(data), **values)
    own = look_through(data, image_size=size_of(settings), fit=settings.fit)
    return summary(settings, load_splits(settings, own=own), own)


def test_one_line_says_what_is_trained_on(photos):
    (photos / "cat" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing more")
    (photos / "cat" / "notes.txt").write_text("hello")
    parts = look_through(photos).parts(0.1)
    line, *rest = said(photos)
    broken = next(part for part, items in parts.items() if any("broken" in item.name for item in items))
    counts = {part: len(items) - (part == broken) for part, items in parts.items()}
    assert broken != "test", "or it would not be met"
    assert line == (
        f"{photos}: 102 images of 3 classes (cat 60, dog 30, owl 12), the largest 5 times the smallest: --balance "
        f"weighs them alike; 20×10 to 30×30 → 40×40, padded with black where they are no squares; "
        f"{counts['train']} to learn from, {counts['validation']} to validate, {counts['test']} to test; "
        f"2 skipped: 1 not PNG, JPEG, WebP, BMP, TIFF or GIF, 1 damaged"
    )
    assert [row.split(":")[0] for row in rest if row.startswith("  ")] == ["  'cat/notes.txt'", "  'cat/broken.png'"]
    assert "each learned from equally often" in said(photos, balance=True)[0]
    assert "squashed where they are no squares" in said(photos, fit="squash")[0]
    assert "→ 24×24" in said(photos, image_size=24)[0]
    assert " none to validate, " in said(photos, validation=0.0)[0]


def test_the_line_comes_first_on_the_terminal(photos, capfd):
    fit(NAME, photos, fast_dev_run=True, **{**SMALL, "quiet": False})
    assert capfd.readouterr().err.splitlines()[0].startswith(f"{photos}: 102 images of 3 classes")
    fit(NAME, "glyphs", fast_dev_run=True, **{**SMALL, "quiet": False})
    first = capfd.readouterr().err.splitlines()[0]
    assert first.startswith("glyphs: 10,000 images of 10 classes; 28×28; 9,000 to learn from, 1,000 to validate")


def test_many_classes_are_summed_up(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (800, 4, 4)).astype(np.uint8)
    labels = np.arange(800) % 20
    labels[700:] = 7
    np.savez(tmp_path / "d.npz", x=images, y=labels)
    settings = Settings(NAME, str(tmp_path / "d.npz"))
    own = look_through(settings.data)
    assert "20 classes (from 35 of 0 to 135 of 7)" in summary(settings, load_splits(settings, own=own), own)[0]


def test_the_size_is_the_papers_unless_told(photos):
    for name in ("sabour2017/capsnet", "gu2021/capsnet", "tsai2020/inverted_simple"):
        settings = Settings(name, str(photos))
        assert load_splits(settings).train.image_shape == (3, *model_info(name)["image"][1:])
    assert load_splits(Settings(NAME, str(photos), image_size=20)).train.image_shape == (3, 20, 20)
    assert load_splits(Settings(NAME, str(photos), options={"image_size": 22})).train.image_shape == (3, 22, 22)
    assert load_splits(Settings(NAME, str(photos), options={"in_chans": 1})).train.image_shape == (1, 40, 40)
    with pytest.raises(ValueError, match="image_size is missing: of a network of one's own nobody knows"):
        load_splits(Settings("custom", str(photos)))


def test_pad_crop_and_squash(photos):
    found = {
        fit: load_splits(Settings(NAME, str(photos), fit=fit, image_size=20)).train for fit in ("pad", "crop", "squash")
    }
    bars = {fit: int((data.images.flatten(1)[:, :60] == 0).all(1).sum()) for fit, data in found.items()}
    assert bars["pad"] > 20
    assert bars["crop"] == bars["squash"] == 0
    assert not torch.equal(found["crop"].images, found["squash"].images)


def test_classes_left_without_are_named_with_what_to_do(photos, tmp_path):
    settings = Settings(NAME, str(photos), validation=0.3)
    own = look_through(photos)
    parts = own_parts(own, settings)
    for item in [item for item in own.items if item in parts["test"] + parts["validation"]]:
        if item.name.startswith("owl"):
            (photos / item.name).unlink()
    told = said(photos, validation=0.3)[1:]
    assert [line.split(":")[0] for line in told] == [
        "no image of 'owl' is for validation",
        "no image of 'owl' is for test",
    ]
    assert all(f"choose some yourself, as {photos}/" in line for line in told)
    shutil.move(photos, tmp_path / "train")
    photos.mkdir()
    shutil.move(tmp_path / "train", photos / "train")
    (line,) = [line for line in said(photos)[1:] if "evaluate" in line]
    assert "has no images to test by, so 'torchcaps evaluate' will have none: add them as" in line
    assert "--make-missing" in line
    assert not [line for line in remarks(look_through(photos, make_missing=True), parts) if "evaluate" in line]


def test_what_cannot_be_trained_on_is_said_before(photos):
    shutil.rmtree(photos / "owl")
    shutil.rmtree(photos / "dog")
    with pytest.raises(ValueError, match=r"photos has one class only, 'cat': a network needs two to tell apart"):
        load_splits(Settings(NAME, str(photos)))
    (photos / "dog").mkdir()
    (photos / look_through(photos).parts()["test"][0].name).rename(photos / "dog" / "only.png")
    with pytest.raises(ValueError, match="has no image to learn from of 'dog': add some, or take the class out"):
        load_splits(Settings(NAME, str(photos)))
    contents = b""
    for k in range(20):  # a picture that is damaged, and that its contents give to training
        contents = b"\x89PNG\r\n\x1a\n" + bytes([k])
        (photos / "dog" / "only.png").write_bytes(contents)
        if any(item.name == "dog/only.png" for item in look_through(photos).parts(0.1)["train"]):
            break
    with pytest.raises(ValueError, match="has no image to learn from of 'dog'"):
        load_splits(Settings(NAME, str(photos)))


def test_too_few_images(tmp_path):
    rng = np.random.default_rng(0)
    file = tmp_path / "few.npz"
    for _ in range(20):
        np.savez(file, x=rng.integers(0, 256, (4, 4, 4)).astype(np.uint8), y=[0, 1, 0, 1])
        parts = look_through(file).parts(0.1)
        if parts["train"] and len({item.label for item in parts["train"]}) == 2 and not parts["validation"]:
            break
    with pytest.raises(ValueError, match=r"few\.npz has 4 images, too few: none of them is left for validation\. Add .*"
                                         r"as x_val and y_val .*--set validation=0"):  # fmt: skip
        load_splits(Settings(NAME, str(file)))
    if not parts["test"]:
        with pytest.raises(ValueError, match=r"none of them is left for test"):
            load_splits(Settings(NAME, str(file), validation=0.0))


def test_some_of_the_images(photos):
    """The same for every seed, taken before any are held out; those to test by are all there."""
    parts = [load_splits(Settings(NAME, str(photos), images=40, validation=0.2, seed=seed)) for seed in (0, 3)]
    assert [len(p.train) + len(p.validation) for p in parts] == [40, 40]
    assert torch.equal(parts[0].train.images, parts[1].train.images)
    assert len(load_part(Settings(NAME, str(photos), images=40), "test")) == len(look_through(photos).parts()["test"])
    with pytest.raises(ValueError, match=r"images=500 is not allowed: .* has \d+ training images"):
        load_splits(Settings(NAME, str(photos), images=500))
    few = load_splits(Settings(NAME, str(photos), overfit=7))
    assert few.train is few.validation
    assert len(few.train) == 7


def test_balance_weighs_the_classes_alike(photos):
    train = load_splits(Settings(NAME, str(photos), balance=True, augment="shift")).train
    assert isinstance(train, Augmented)
    assert isinstance(train.data, Balanced)
    counts = torch.cat([batch.labels[:, 0] for batch in train.batches(8, shuffle=True)]).bincount()
    assert counts.max() - counts.min() <= 1
    assert counts.sum() == len(train)


def test_a_run_knows_its_data(photos, tmp_path):
    out = tmp_path / "run"
    fit(NAME, photos, out=out, image_size=28, **SMALL)
    contents = json.loads((out / DATA).read_text())["contents"]
    assert len(contents) == 102
    test = load_run(out).test_data()
    assert len(test) == len(look_through(photos).parts()["test"])


def test_noise_with_random_labels_is_at_chance(tmp_path):
    """Learned by heart, and no better than a guess on images that it has not seen."""
    rng = np.random.default_rng(5)
    images, labels = rng.integers(0, 256, (360, 17, 17)).astype(np.uint8), rng.integers(0, 2, 360)
    np.savez(tmp_path / "noise.npz", images=images, labels=labels)
    told = {"options": {"width": 0.5}, "epochs": 40, "batch_size": 32, "lr": 3e-3, "quiet": True}
    fit("chen2019/lenet", tmp_path / "noise.npz", out=tmp_path / "run", **told)
    run = load_run(tmp_path / "run")
    learned = accuracy(run.model, load_splits(run.settings).train)
    judged = accuracy(run.model, run.test_data())
    assert learned.value > 0.97
    assert judged.interval[0] < 0.5 < judged.interval[1]
    assert judged.count > 60


def test_a_class_with_test_images_only_cannot_be_learned(tmp_path):
    """It is said of the parts themselves, before any image is read."""
    rng, file = np.random.default_rng(0), tmp_path / "d.npz"
    arrays = {f"x_{part}": rng.integers(0, 256, (20, 4, 4)).astype(np.uint8) for part in ("train", "test")}
    np.savez(file, **arrays, y_train=np.arange(20) % 2, y_test=np.arange(20) % 3)
    with pytest.raises(ValueError, match="has no image to learn from of '2'"):
        own_parts(look_through(file), Settings(NAME, str(file), validation=0.0))


def test_the_datas_own_options_come_before_the_models(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Image.new("RGB", (30, 20), 90).save(tmp_path / name / f"{name}.png")
    found = [own_images(Settings(NAME, str(tmp_path), data_options=told)) for told in ({}, {"image_size": 24})]
    assert [own.image_shape for own in found] == [(3, 40, 40), (3, 24, 24)]


def test_only_arrays_without_parts_were_trained_and_tested_by_the_same(tmp_path):
    images, labels = np.zeros((4, 2, 2), np.uint8), np.arange(4) % 2
    np.savez(tmp_path / "whole.npz", images=images, labels=labels)
    np.savez(tmp_path / "parts.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    for name, leaky in (("whole.npz", True), ("parts.npz", False), ("photos", False)):
        said = trained_before(Settings(NAME, str(tmp_path / name), data_options={"rule": "names"}))
        assert said.startswith(f"{tmp_path / name} was parted by the names of its files")
        assert said.endswith("their accuracy says nothing.") == leaky
    assert trained_before(Settings(NAME, str(tmp_path / "whole.npz"))) == ""
