"""Files of the published data sets, as their authors wrote them, and what is wrong with bad ones."""

import pickle

import numpy as np
import pytest
import torch
from scipy.io import savemat

from torchcaps.data import RECIPES, DataUnavailableError, load
from torchcaps.data.cifar import CLASSES10, read_batch
from torchcaps.data.mnist import CLOTHES, idx


def test_affnist_files(tmp_path):
    pictures = np.random.default_rng(0).integers(0, 256, (5, 40, 40)).astype(np.uint8)
    flat = pictures.swapaxes(1, 2).reshape(5, 1600).T
    (tmp_path / "test_batches").mkdir()
    savemat(tmp_path / "test_batches" / "1.mat", {"affNISTdata": {"image": flat, "label_int": np.arange(5)}})
    for root in (tmp_path, tmp_path / "test_batches"):
        data = load("affnist", "test", root=root)
        assert torch.equal(data.images[:, 0], torch.from_numpy(pictures))
        assert data.labels.tolist() == [0, 1, 2, 3, 4]
        with pytest.raises(
            FileNotFoundError, match=r"for train .* so that those to learn from and those to test by stay"
        ):
            load("affnist", "train", root=root)


def test_affnist_troubles_are_named(tmp_path):
    with pytest.raises(DataUnavailableError, match=r"name their directory with root=; 'affine_mnist'"):
        load("affnist", "test")
    with pytest.raises(FileNotFoundError, match=r"there are no \.mat files for test"):
        load("affnist", "test", root=tmp_path)
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "1.mat").write_bytes(b"nonsense" * 40)
    with pytest.raises(ValueError, match=r"1\.mat is not an AffNIST file"):
        load("affnist", "test", root=tmp_path)


def test_affnist_files_of_another_size(tmp_path):
    """Digits of 28×28 are not cut into some of 40×40, even where their pixels come out even."""
    (tmp_path / "test").mkdir()
    digits = {"image": np.zeros((784, 100), np.uint8), "label_int": np.arange(100) % 10}
    savemat(tmp_path / "test" / "1.mat", {"affNISTdata": digits})
    with pytest.raises(ValueError, match=r"1\.mat is not an AffNIST file: images \(784, 100\), labels \(100,\)"):
        load("affnist", "test", root=tmp_path)


def test_pixels_of_cifar_as_its_page_says(monkeypatch):
    """1024 bytes of red, then of green, then of blue, each row by row (cs.toronto.edu/~kriz/cifar.html)."""
    row = np.random.default_rng(0).integers(0, 256, 3072).astype(np.uint8)
    batch = pickle.dumps({b"data": row[None], b"labels": [3]}, 2)
    monkeypatch.setattr("torchcaps.data.cifar.obtain", lambda recipe, *_: dict.fromkeys(recipe.files, batch))
    data = load("cifar10", "test")
    for colour, y, x in ((0, 0, 0), (0, 0, 31), (1, 5, 7), (2, 31, 0)):
        assert data.images[0, colour, y, x] == row[1024 * colour + 32 * y + x]
    assert len(load("cifar10", "train")) == 5


def test_what_labels_mean():
    """As those who made the data publish it: batches.meta of CIFAR-10, the table of Fashion-MNIST's README."""
    assert " ".join(CLASSES10) == "airplane automobile bird cat deer dog frog horse ship truck"
    assert dict(enumerate(CLOTHES)) == {
        0: "T-shirt", 1: "Trouser", 2: "Pullover", 3: "Dress", 4: "Coat",
        5: "Sandal", 6: "Shirt", 7: "Sneaker", 8: "Bag", 9: "Ankle boot",
    }  # fmt: skip


@pytest.mark.parametrize("name", RECIPES)
def test_every_name_asks_for_its_own_files(monkeypatch, name):
    asked = []

    def obtain(recipe, *_):
        asked.append(recipe.name)
        raise DataUnavailableError("not here")

    for module in ("mnist", "cifar", "cifar100"):
        monkeypatch.setattr(f"torchcaps.data.{module}.obtain", obtain)
    with pytest.raises(DataUnavailableError):
        load(name)
    assert asked == [name]


class Evil:
    def __reduce__(self):
        import os

        return os.system, ("touch /tmp/torchcaps-was-here",)


class EvilArray:
    """Calls a function of NumPy's, which has some that read files and unpickle them."""

    def __reduce__(self):
        return np.load, ("nowhere.npy",)


def test_the_unpickler_reads_arrays_and_nothing_else():
    batch = {b"data": np.zeros((1, 3072), np.uint8), b"labels": [3]}
    assert read_batch(pickle.dumps(batch, 2))[b"labels"] == [3]
    for evil in (Evil(), EvilArray()):
        with pytest.raises(ValueError, match="which no CIFAR batch contains: it is not read"):
            read_batch(pickle.dumps({b"data": evil}))
    with pytest.raises(ValueError, match="not a CIFAR batch"):
        read_batch(pickle.dumps([1]))


def test_idx_files_are_checked():
    with pytest.raises(ValueError, match="not an IDX file"):
        idx(b"\x89PNG....")


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(ValueError, match="there is no data set and no folder 'mnst': did you mean 'mnist'"):
        load("mnst")
    with pytest.raises(ValueError, match="split='val' is not allowed: choose 'train' or 'test'"):
        load("glyphs", "val")
    with pytest.raises(ValueError, match="a generator draws from a stored data set"):
        load("multi_mnist", source="sign")
