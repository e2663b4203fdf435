"""Which images a network is judged by, and outcomes on their way to disk and back."""

import json

import numpy as np
import pytest
import torch

from tests.contracts import few_images
from torchcaps.bench import subject
from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Subject, few, from_json, images, to_json
from torchcaps.data import Stored
from torchcaps.train import Settings
from torchcaps.train.splits import load_part


@pytest.fixture(autouse=True)
def _mnist(monkeypatch, tmp_path):
    """Sixty images to learn from and thirty to test by."""
    few_images.STORED["mnist"](monkeypatch, tmp_path)
    subject._loaded.cache_clear()
    yield
    subject._loaded.cache_clear()


def seen(data):
    return data.batch(torch.arange(len(data)))


@pytest.mark.parametrize("data", ["mnist", "placed_mnist", "multi_mnist"])
@pytest.mark.parametrize("count", [0, 12])
def test_networks_of_all_seeds_are_judged_by_the_same_images(data, count):
    one, other = (seen(images(Settings("gu2021/capsnet", data, seed=seed), count)) for seed in (0, 3))
    assert torch.equal(one.images, other.images)
    assert torch.equal(one.labels, other.labels)
    assert len(one.images) == (count or 30)


def test_images_are_of_the_split_asked_for():
    settings = Settings("gu2021/capsnet", "mnist")
    assert (len(images(settings)), len(images(settings, split="train")), len(images(settings, split="test"))) == (
        30,
        60,
        30,
    )
    learned = {image.numpy().tobytes() for image in seen(images(settings, split="train")).images}
    assert not learned & {image.numpy().tobytes() for image in seen(images(settings)).images}
    placed = Settings("gu2021/capsnet", "placed_mnist")
    assert (len(images(placed)), len(images(placed, split="train"))) == (30, 60)


def test_a_measures_options_override_those_of_the_training():
    settings = Settings("gu2021/capsnet", "placed_mnist", data_options={"canvas": 40})
    assert images(settings).image_shape == (1, 40, 40)
    assert images(settings, canvas=32).image_shape == (1, 32, 32)
    paired = Settings("gu2021/capsnet", "multi_mnist", data_options={"pairs": 5})
    assert len(images(paired, 10, pairs=2)) == 2 * len(images(paired, 10, pairs=1)) == 20


def test_a_few_images_are_of_all_classes_though_the_file_is_sorted():
    data = Stored(torch.zeros(200, 1, 2, 2, dtype=torch.uint8), torch.arange(200) // 20, tuple("abcdefghij"))
    some = few(data, 100)
    assert len(some) == 100
    assert set(some.labels.tolist()) == set(range(10))
    assert few(data, 100).labels.tolist() == some.labels.tolist()
    assert few(data, 0) is data is few(data, 200)


def test_a_few_numbers_are_none_that_were_learned_from():
    settings = Settings("peer2021/sign", "sign", images=50)
    learned = set(seen(few(load_part(settings, "train"), 50)).images.flatten().tolist())
    judged = seen(images(settings, 50)).images.flatten().tolist()
    assert len(judged) == 50
    assert not learned & set(judged)
    assert judged == seen(load_part(settings, "test")).images.flatten().tolist()[:50]


def test_outcomes_come_back_image_by_image():
    right = np.random.default_rng(0).random(13) < 0.4
    back = from_json(json.loads(json.dumps(to_json(Number.share(right, 45)))))
    assert back.images.tolist() == right.tolist()
    assert (back.value, back.answers) == (right.mean(), 45)
    assert from_json(to_json(Number(0.25))) == Number(0.25)
    assert from_json(to_json(Number(None))) == Number(None)


def test_outcomes_are_stored_first_image_first():
    first = to_json(Number.share(np.arange(8) == 0, 10))
    assert first == {"bits": "gA==", "count": 8, "answers": 10}  # 0b1000_0000


def test_a_row_without_a_network_says_so():
    with pytest.raises(ValueError, match="the row has none"):
        _ = Subject(0).own


def outcomes(*right, sources=1):
    return Number.share(np.array(right, dtype=bool), 10, sources)


def test_a_number_between_two_checkpoints_keeps_both():
    a, b = outcomes(1, 0, 1, 0), outcomes(1, 1, 0, 0)
    made = Number.between(a, b, 0.25)
    assert made.images.tolist() == [1.0, 0.25, 0.75, 0.0]
    assert (made.value, made.answers) == (0.5, 10)
    kept = json.loads(json.dumps(to_json(made)))
    assert set(kept) == {"bits", "to", "weight", "count", "answers"}
    back = from_json(kept)
    assert (back.images.tolist(), back.value, to_json(back)) == (made.images.tolist(), 0.5, kept)
    assert Number.between(Number(1.0), Number(3.0), 0.25).value == 1.5
    assert Number.between(Number(None), b, 0.25).value is None


def test_only_numbers_of_the_same_images_have_one_between():
    with pytest.raises(ValueError, match=r"weight=1\.5 is not allowed"):
        Number.between(outcomes(1), outcomes(0), 1.5)
    for other in (outcomes(1, 0), outcomes(1, 0, 1, 1, sources=2), Number.share(np.ones(4, dtype=bool), 45)):
        with pytest.raises(ValueError, match="not the same images"):
            Number.between(outcomes(1, 0, 1, 0), other, 0.5)
    with pytest.raises(ValueError, match="at checkpoints"):
        Number.between(Number.between(outcomes(1), outcomes(0), 0.5), outcomes(1), 0.5)


def test_how_many_images_a_source_has_is_stored_and_old_lines_have_one():
    kept = to_json(outcomes(1, 0, 1, 0, sources=2))
    assert from_json(kept).sources == 2
    assert from_json({name: kept[name] for name in ("bits", "count", "answers")}).sources == 1
    assert "sources" not in to_json(outcomes(1, 0))
