"""The first version's rules, on hand-made files: which of them are for testing, and how a picture was read."""

import hashlib

import numpy as np
import pytest
from PIL import Image

from tests.data.test_photograph import with_scans
from torchcaps.data import load
from torchcaps.data._before import honest, read_as_before
from torchcaps.data._files import UnreadableError


def pictures(folder, count):
    """So many pictures, each of a grey of its own."""
    folder.mkdir(parents=True)
    for k in range(count):
        Image.new("L", (3, 2), 2 * k).save(folder / f"{k}.png")


def greys(data):
    return sorted((data.images[:, 0, 0, 0] // 2).tolist())


def test_a_fifth_is_rounded(tmp_path):
    """Of 23 files 4.6 would be for testing: the five whose names' checksums come first."""
    pictures(tmp_path / "cat", 23)
    order = sorted(range(23), key=lambda k: hashlib.sha256(f"cat/{k}.png".encode()).hexdigest())
    test, train = (load(tmp_path, part, rule="names", image_size=4) for part in ("test", "train"))
    assert greys(test) == sorted(order[:5])
    assert greys(train) == sorted(order[5:])


def test_parts_of_the_users_own_are_taken_whole(tmp_path):
    pictures(tmp_path / "train" / "cat", 20)
    pictures(tmp_path / "test" / "cat", 10)
    assert greys(load(tmp_path, "train", rule="names", image_size=4)) == list(range(20))
    assert greys(load(tmp_path, "test", rule="names", image_size=4)) == list(range(10))


def test_a_picture_has_its_height_first(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (30, 50, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "x.png")
    expected = np.asarray(Image.fromarray(pixels).resize((20, 10), Image.Resampling.BICUBIC))
    assert np.array_equal(read_as_before(tmp_path / "x.png", (10, 20), 3), np.moveaxis(expected, -1, 0))


@pytest.mark.parametrize(("names", "apart"), [(("x", "y"), False), (("images", "labels"), False),
                                              (("x_train", "y_train", "x_test", "y_test"), True)])  # fmt: skip
def test_arrays_without_parts_were_learned_from_and_tested_by(tmp_path, names, apart):
    np.savez(tmp_path / "d.npz", **{name: np.zeros((4, 2, 2) if name[0] in "xi" else 4, np.uint8) for name in names})
    assert honest(tmp_path / "d.npz") is apart
    train, test = (len(load(tmp_path / "d.npz", part, rule="names")) for part in ("train", "test"))
    assert train == test == 4


def test_a_damaged_picture_was_left_out(tmp_path):
    pictures(tmp_path / "train" / "cat", 3)
    (tmp_path / "train" / "cat" / "1.png").write_bytes(b"\x89PNG nonsense")
    assert greys(load(tmp_path, "train", rule="names", image_size=4)) == [0, 2]
    for k in (0, 2):
        (tmp_path / "train" / "cat" / f"{k}.png").unlink()
    with pytest.raises(ValueError, match="train holds no images: expected a sub-folder a class"):
        load(tmp_path, "train", rule="names", image_size=4)


def test_arrays_without_a_part_are_named(tmp_path):
    np.savez(tmp_path / "d.npz", x_train=np.zeros((4, 2, 2), np.uint8), y_train=np.zeros(4, np.uint8))
    with pytest.raises(ValueError, match=r"d\.npz has x_train, y_train: there are no images and labels for test"):
        load(tmp_path / "d.npz", "test", rule="names")


def test_a_jpeg_of_thousands_of_scans_is_refused_here_too(tmp_path):
    (tmp_path / "a.jpg").write_bytes(with_scans(3000))
    with pytest.raises(UnreadableError, match="too many scans"):
        read_as_before(tmp_path / "a.jpg", (8, 8), 3)
