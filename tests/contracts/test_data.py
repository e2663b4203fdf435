"""No image is in two parts: every data set, generator and loader, by contents, whatever path leads to the images.

A data set that is entered in the registries is tested here without another word; `few_images.py` must know how to make
a few images of a stored one.
"""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.contracts import few_images
from torchcaps import fit, load_run
from torchcaps.bench.demo import digits as demo
from torchcaps.bench.subject import images as bench_images
from torchcaps.data import GENERATORS, STORED, Sign, Stored, list_datasets, load
from torchcaps.data._dataset import behind
from torchcaps.data.glyphs import _templates, fonts
from torchcaps.train import Settings
from torchcaps.train.loop import Training
from torchcaps.train.splits import load_part, load_splits

NAMED = [*STORED, *GENERATORS, "sign"]
pytestmark = pytest.mark.filterwarnings("ignore:.*copies of images to judge by")
NETWORK = {"options": {"width": 0.02}, "steps": 1, "batch_size": 4, "quiet": True}


def test_every_data_set_is_tested():
    assert sorted(NAMED) == list_datasets()
    assert set(few_images.STORED) == set(STORED), "tell few_images.py how to make a few images of it"


@pytest.fixture(params=[*NAMED, *few_images.OWN])
def data(request, monkeypatch, tmp_path):
    """The name, or path, of a data set, and its options."""
    name = request.param
    if name in few_images.OWN:
        return few_images.OWN[name](tmp_path)
    if name == "sign":
        return name, {"count": 300}
    home = tmp_path / "files"
    home.mkdir()
    return name, few_images.STORED["mnist" if name in GENERATORS else name](monkeypatch, home)


def sources(data):
    """What identifies the images behind a data set: the contents of the stored ones, or the seed of numbers."""
    found = behind(data)
    if isinstance(found, Sign):
        return {("seed", found.seed)}
    assert isinstance(found, Stored), f"{type(found).__name__}: how are its images told from others?"
    return {hashlib.sha256(image.numpy().tobytes()).digest() for image in found.images}


def assert_apart(**parts):
    contents = {name: sources(part) for name, part in parts.items()}
    assert all(contents.values())
    for one in contents:
        for other in contents:
            assert one == other or not contents[one] & contents[other], f"{one} and {other} share images"


def test_load(data):
    name, options = data
    assert_apart(train=load(name, "train", **options), test=load(name, "test", **options))
    if name not in NAMED:
        parts = ("train", "validation", "test")
        assert_apart(**{part: load(name, part, validation=0.2, **options) for part in parts})


@pytest.mark.parametrize("seed", [0, 1048])
def test_splits_of_a_training(data, seed):
    name, options = data
    seeds = [options] if name not in ("sign", *GENERATORS) else [options, {**options, "seed": seed}]
    for options in seeds:
        settings = Settings(
            "gu2021/convnet_avg", name, data_options=options, validation=0.2, seed=seed, image_size=None
        )
        train, validation = load_splits(settings)
        assert_apart(train=train, validation=validation, test=load_part(settings, "test"))
        assert_apart(train=load_part(settings, "train"), test=bench_images(settings))


def test_fit_and_evaluate(data, tmp_path, monkeypatch):
    """What a training really learned from and was judged by, and what `torchcaps evaluate` would judge by."""
    name, options = data
    seen, real = [], Training.__init__

    def spy(self, fabric, settings, model, splits, **others):
        seen.append(splits)
        real(self, fabric, settings, model, splits, **others)

    monkeypatch.setattr(Training, "__init__", spy)
    network = {"model": "peer2021/sign", **NETWORK, "options": {}} if name == "sign" else NETWORK
    augment = "none" if name in ("sign", "multi_mnist", "diverse_multi_mnist") else "shift"
    size = {} if name in NAMED else {"image_size": 28}
    settings = {"model": "gu2021/convnet_avg", "augment": augment, **size, **network}
    fit(data=name, data_options=options, validation=0.2, out=tmp_path / "run", **settings)
    test = load_run(tmp_path / "run").test_data()
    assert_apart(train=seen[0].train, validation=seen[0].validation, test=test)


def test_generators_over_ones_own_images(tmp_path):
    """Parted as the images themselves are, whatever the seed."""
    file, _ = few_images.OWN["arrays"](tmp_path)
    found = []
    for seed in (0, 1):
        options = {"source": file, "canvas": 20}
        settings = Settings("gu2021/convnet_avg", "placed_mnist", data_options=options, validation=0.2, seed=seed)
        train, validation = load_splits(settings)
        assert_apart(train=train, validation=validation, test=load_part(settings, "test"))
        found.append(sources(validation))
    assert found[0] == found[1] == sources(load(file, "validation", validation=0.2))


def test_a_second_data_set_that_shares_images_is_refused(tmp_path):
    first, _ = few_images.OWN["arrays with parts"](tmp_path)
    images = load(first).images.numpy()[:, 0]
    np.savez(tmp_path / "other.npz", x_train=images[:20], y_train=np.arange(20) % 3)
    settings = Settings("gu2021/convnet_avg", first, validation_data=str(tmp_path / "other.npz"))
    with pytest.raises(ValueError, match="20 of the validation images are also learned from"):
        load_splits(settings)
    again = Settings("gu2021/convnet_avg", first, validation_data=first)
    assert_apart(**load_splits(again)._asdict(), test=load_part(again, "test"))


def test_copies_in_images_given_as_an_object():
    images = torch.randint(256, (50, 1, 4, 4), dtype=torch.uint8)
    data = Stored(images.repeat(4, 1, 1, 1), torch.arange(200) % 2, ("a", "b"))
    train, validation = load_splits(Settings("custom", "custom", validation=0.1), data)
    assert len(train) + len(validation) == 200
    assert_apart(train=train, validation=validation)


def test_fonts_of_glyphs():
    assert not set(fonts("train")) & set(fonts("test"))
    drawn = [{glyph.numpy().tobytes() for glyph in _templates(part)} for part in ("train", "test")]
    assert not drawn[0] & drawn[1]


def test_numbers_of_sign():
    """Seeds apart, so the numbers are others: two that are equal by chance are rarer than one in two hundred."""
    train, test = (load("sign", part).batch(torch.arange(20_000)).images.flatten() for part in ("train", "test"))
    assert len(set(train.tolist()) & set(test.tolist())) < 100
    seeds = [load("sign", part, seed=seed).seed for part in ("train", "test") for seed in range(50)]
    assert len(set(seeds)) == 100


def test_the_demo(monkeypatch, tmp_path):
    few_images.STORED["mnist"](monkeypatch, tmp_path)
    contest = replace(demo.QUICK, train=20, validation=10, test=10).contest()
    learn, judge = load_splits(contest.training(contest.entrants[0]))
    assert_apart(train=learn, validation=judge, test=contest.images())


def test_the_classifier(monkeypatch):
    """It learns from what it is given and holds nothing out; who cross-validates parts the images before."""
    from torchcaps import CapsNetClassifier
    from torchcaps import sklearn as module

    calls = []
    monkeypatch.setattr(module, "fit", lambda *given, **values: calls.append((given, values)) or fit(*given, **values))
    x, y = few_images.noise(12, 6, 6), np.arange(12) % 2
    CapsNetClassifier(epochs=1).fit(x, y)
    ((_, rows), values) = calls[0]
    assert (values["validation"], values.get("validation_data"), values.get("out")) == (0.0, None, None)
    assert np.array_equal(rows.rows.reshape(x.shape), x)
