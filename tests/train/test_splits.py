"""Which images are learned from and which are judged by: by seed, by number, behind generators, by a second set."""

import numpy as np
import pytest
import torch

from tests.train.separable import Separable, linear
from torchcaps import fit
from torchcaps.data import Augmented, Stored, load, look_through
from torchcaps.train.settings import Settings
from torchcaps.train.splits import load_part, load_splits

NAME = "mitterreiter2023/capsnet"


@pytest.fixture(autouse=True)
def _few_glyphs(monkeypatch):
    monkeypatch.setattr("torchcaps.data.glyphs.COUNTS", {"train": 200, "test": 50})


def images_of(data):
    """The stored images a data set is or draws from, as bytes."""
    data = data if isinstance(data, Stored) else data.source
    return {image.numpy().tobytes() for image in data.images}


def test_the_seed_decides_the_order_and_what_is_held_out():
    first, again, other = (load_splits(Settings(NAME, "glyphs", seed=seed)) for seed in (1, 1, 2))
    for part in ("train", "validation"):
        one, same, different = (next(getattr(s, part).batches(8, shuffle=True)).images for s in (first, again, other))
        assert torch.equal(one, same)
        assert not torch.equal(one, different)
    whole = [load_splits(Settings(NAME, "glyphs", seed=seed, validation=0.0)).train for seed in (1, 2)]
    assert torch.equal(whole[0].images, whole[1].images)
    orders = [next(data.batches(8, shuffle=True)).images for data in whole]
    assert not torch.equal(*orders)


def test_overfit_trains_and_judges_on_the_same_few():
    splits = load_splits(Settings(NAME, "glyphs", overfit=10))
    assert len(splits.train) == 10
    assert torch.equal(splits.train.images, splits.validation.images)
    assert torch.equal(splits.train.images, load("glyphs").images[:10])


def test_so_many_images_are_the_same_for_every_seed():
    """Rows of a table share their images; what is held out of them differs with the seed."""
    chosen = [Settings(NAME, "glyphs", images=50, validation=0.2, seed=seed) for seed in (1, 2)]
    parts = [load_splits(settings) for settings in chosen]
    assert [(len(p.train), len(p.validation)) for p in parts] == [(40, 10)] * 2
    both = [images_of(p.train) | images_of(p.validation) for p in parts]
    assert both[0] == both[1]
    assert images_of(parts[0].train) != images_of(parts[1].train)
    assert both[0] < images_of(load("glyphs"))
    fewer = load_splits(Settings(NAME, "glyphs", images=20, validation=0.0)).train
    assert images_of(fewer) < both[0], "the first of one order"
    sign = load_splits(Settings("peer2021/sign", "sign", images=30))
    assert (len(sign.train), len(sign.validation)) == (30, 30)
    with pytest.raises(ValueError, match="images=201 is not allowed: glyphs has 200 training images"):
        load_splits(Settings(NAME, "glyphs", images=201))


def test_a_generator_draws_from_the_source_it_is_given():
    options = {"source": "glyphs", "pairs": 2, "single": 0.5}
    settings = Settings(NAME, "multi_mnist", data_options=options, images=40, validation=0.25, seed=3)
    train, validation = load_splits(settings)
    assert (len(train), len(validation)) == (60, 20)
    assert (train.pairs, train.single, train.seed) == (2, 0.5, 3)
    assert not images_of(train) & images_of(validation)
    test = load_part(settings, "test")
    assert (len(test), test.seed) == (100, 0)
    assert images_of(test) == images_of(load("glyphs", "test"))
    warped = {"source": "glyphs", "strength": {"rotation": 0.0, "shear": 0.0}, "canvas": 30}
    train, _ = load_splits(Settings(NAME, "affine_mnist", data_options=warped))
    assert (train.strength.rotation, train.strength.translation, train.image_shape) == (0.0, 8.0, (1, 30, 30))


def test_a_second_data_set_to_judge_by():
    glyphs = {"source": "glyphs", "canvas": 32}
    names = {"data": "affine_mnist", "validation_data": "placed_mnist"}
    settings = Settings(NAME, data_options=glyphs, validation_options=glyphs, **names)
    train, validation = load_splits(settings)
    assert (type(train).__name__, type(validation).__name__) == ("Affine", "Placed")
    assert (len(train), len(validation)) == (180, 20)
    assert not images_of(train) & images_of(validation), "both draw from the same digits"
    with pytest.raises(
        ValueError, match="validation=0 is not allowed: affine_mnist and placed_mnist draw from the same"
    ):
        load_splits(Settings(NAME, data_options=glyphs, validation_options=glyphs, validation=0.0, **names))
    with pytest.raises(ValueError, match=r"do not fit: their image_shape is \(1, 32, 32\) and \(1, 40, 40\)"):
        load_splits(Settings(NAME, data_options=glyphs, validation_options={"source": "glyphs"}, **names))


def test_a_second_data_set_of_other_images(tmp_path):
    """All of the first are learned from, the training split of the second is judged by, whatever `validation` says."""
    file = tmp_path / "mine.npz"
    stored = load("glyphs", "test")
    arrays = {"x_train": stored.images[:30].numpy(), "x_test": stored.images[30:].numpy()}
    labels = {"y_train": stored.labels[:30].numpy(), "y_test": stored.labels[30:].numpy()}
    np.savez(file, **arrays, **labels)
    assert len(stored.labels[:30].unique()) == 10
    train, validation = load_splits(Settings(NAME, "glyphs", validation_data=str(file)))
    assert (len(train), len(validation)) == (200, 30)
    assert images_of(validation) == {image.tobytes() for image in arrays["x_train"]}


def test_only_training_images_are_augmented():
    settings = Settings(NAME, "glyphs", augment="crop_flip", seed=4)
    plain, changed = load_splits(Settings(NAME, "glyphs", seed=4)), load_splits(settings)
    assert isinstance(changed.train, Augmented)
    assert (changed.train.shift, changed.train.flip, changed.train.seed) == (4, True, 4)
    assert torch.equal(changed.train.data.images, plain.train.images)
    assert torch.equal(changed.validation.images, plain.validation.images)
    assert load_splits(Settings(NAME, "glyphs", augment="shift")).train.shift == 2
    assert isinstance(load_part(settings, "test"), Stored)


def write(file, **arrays):
    np.savez(file, **arrays)
    return str(file)


def test_signs_that_are_learned_are_not_judged_by():
    train, validation = load_splits(Settings("peer2021/sign", "sign", images=64, seed=2))
    one, other = (data.batch(torch.arange(64)).images for data in (train, validation))
    assert not (one[:, None] == other[None]).flatten(2).all(-1).any()


def test_own_arrays_are_validated_by_their_own_part(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (90, 4, 4)).astype(np.uint8)
    file = write(tmp_path / "d.npz", x=images, y=np.arange(90) % 2)
    parts, splits = look_through(file).parts(0.2), load_splits(Settings(NAME, file, validation=0.2))
    for part in ("train", "validation"):
        named = {int(item.name.split("[")[-1].strip("]")) for item in parts[part]}
        assert images_of(getattr(splits, part)) == {images[k].tobytes() for k in named}
    assert len(splits.train) + len(splits.validation) + len(parts["test"]) == 90


def test_arrays_are_cropped_where_that_is_asked(tmp_path):
    """From 10×20 the middle of each, pixel by pixel; padded, all of it between bars."""
    images = np.random.default_rng(0).integers(1, 256, (40, 10, 20)).astype(np.uint8)
    file = write(tmp_path / "d.npz", x=images, y=np.arange(40) % 2)
    cropped, padded = (
        load_splits(Settings(NAME, file, image_size=10, fit=fit, validation=0.0)).train for fit in ("crop", "pad")
    )
    assert images_of(cropped) <= {image[:, 5:15].tobytes() for image in images}
    assert (padded.images[:, 0, [0, 1, 8, 9]] == 0).all()
    assert (padded.images[:, 0, 3:7] > 0).all()


def test_a_second_set_that_shares_images_is_refused(glyphs):
    settings = Settings(NAME, "custom", validation_data="custom")
    with pytest.raises(ValueError, match="3 of the validation images are also learned from"):
        load_splits(settings, glyphs, glyphs.select(torch.arange(3)))
    found = load_splits(settings, glyphs.select(torch.arange(3, 72)), glyphs.select(torch.arange(3)))
    assert (len(found.train), len(found.validation)) == (69, 3)


def test_a_few_to_test_by_are_not_the_first_of_a_set_that_is_sorted(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (300, 2, 2)).astype(np.uint8)
    both = {
        "x_train": images[:100],
        "y_train": np.arange(100) // 50,
        "x_test": images[100:],
        "y_test": np.arange(200) // 100,
    }
    few = load_part(Settings(NAME, write(tmp_path / "d.npz", **both)), "test", 20)
    assert len(few) == 20
    assert images_of(few) < {image.tobytes() for image in images[100:]}
    assert set(few.labels.tolist()) == {0, 1}


def test_copies_of_what_is_held_out_are_nothing_to_learn_from():
    same = Stored(torch.zeros(20, 1, 2, 2, dtype=torch.uint8), torch.arange(20) % 2, ("a", "b"))
    with pytest.raises(ValueError, match=r"held_out=0\.1 is not allowed: all other samples are copies of those held"):
        load_splits(Settings(NAME, "custom"), same)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"overfit": 4}, "overfit=4 is not allowed: custom has no stored images"),
        ({"images": 4}, "images=4 is not allowed: Separable has no stored images to choose from"),
    ],
)
def test_a_few_of_images_that_are_not_stored_cannot_be_had(chosen, said):
    with pytest.raises(ValueError, match=said):
        fit(linear(), Separable(), quiet=True, **chosen)


def test_images_that_a_generator_makes_have_its_size():
    settings = Settings(NAME, "placed_mnist", data_options={"source": "glyphs", "canvas": 32}, image_size=20)
    with pytest.raises(ValueError, match="image_size=20 is not allowed for placed_mnist: its images are made at 32×32"):
        load_splits(settings)
