"""A user's own images: folders, NumPy archives, MATLAB files, pickled batches, and what is wrong with them."""

import pickle

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from torchcaps.data import DataUnavailableError, load
from torchcaps.data import folder as folders
from torchcaps.data.cifar import read_batch
from torchcaps.data.mnist import idx


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for label, name in enumerate(("cat", "dog", "owl")):
        (tmp_path / name).mkdir()
        for k in range(10):
            size = (int(rng.integers(5, 60)), int(rng.integers(5, 60)), 3)
            pixels = np.full(size, 80 * label + 10, np.uint8)
            Image.fromarray(pixels).save(tmp_path / name / f"{k}.{('png', 'jpg', 'JPEG')[k % 3]}")
    return tmp_path


def test_a_folder_of_images(folder):
    train, test = load(folder, "train", image_size=16), load(folder, "test", image_size=16)
    assert train.classes == ("cat", "dog", "owl")
    assert (len(train), len(test)) == (24, 6)
    assert train.image_shape == (3, 16, 16)
    assert test.labels.bincount().tolist() == [2, 2, 2]
    batch = train.batch(torch.arange(24))
    assert torch.allclose(batch.images.mean((1, 2, 3)), (80 * train.labels + 10) / 255, atol=0.02)
    assert load(folder, "train", in_chans=1).image_shape == (1, 64, 64)


def test_splits_that_the_folder_has(folder):
    (folder / "all").mkdir()
    for name in ("cat", "dog", "owl"):
        (folder / name).rename(folder / "all" / name)
    (folder / "all").rename(folder / "test")
    assert len(load(folder, "test")) == 30


def test_bad_files_are_listed_and_skipped_or_an_error(folder):
    for k in range(10):
        (folder / "cat" / f"{k}broken.png").write_bytes(b"not an image")
    (folder / "dog" / "notes.txt").write_text("hello")
    with pytest.warns(UserWarning, match=r"8 files cannot be read and are skipped:\n.*broken\.png"):
        data = load(folder, "train")
    assert len(data) == 24
    with pytest.raises(ValueError, match=r"8 files cannot be read:\n.*broken\.png"):
        load(folder, "train", strict=True)


def test_images_too_large_to_unpack_are_refused(folder, monkeypatch):
    monkeypatch.setattr(folders, "MOST_PIXELS", 10)
    with pytest.raises(ValueError, match="pixels are more than the 10 allowed"):
        load(folder, "train", strict=True)


def test_folders_without_images_are_named(tmp_path):
    with pytest.raises(ValueError, match="holds no images: expected a sub-folder a class"):
        load(tmp_path)
    with pytest.raises(ValueError, match="in_chans=2 is not allowed"):
        load(tmp_path, in_chans=2)


@pytest.mark.parametrize("shape", [(8, 9, 7), (8, 9, 7, 3), (8, 3, 9, 7)], ids=str)
@pytest.mark.parametrize("kind", ["bytes", "floats"])
def test_numpy_archives(tmp_path, shape, kind):
    x = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    y = np.array(["b", "a"] * 4)
    np.savez(tmp_path / "d.npz", x_train=x if kind == "bytes" else x / 255, y_train=y)
    data = load(tmp_path / "d.npz")
    assert data.classes == ("a", "b")
    assert data.labels.tolist() == [1, 0] * 4
    assert data.image_shape == (1 if len(shape) == 3 else 3, 9, 7)
    first = x[0].transpose(2, 0, 1) if shape[-1] == 3 else x[0].reshape(data.image_shape)
    assert torch.equal(data.images[0], torch.from_numpy(first.copy()))


def test_bad_archives_are_named(tmp_path):
    file = tmp_path / "d.npz"
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load(file)
    file.write_bytes(b"PK nonsense")
    with pytest.raises(ValueError, match="is not a NumPy archive"):
        load(file)
    np.savez(file, pictures=np.zeros(3))
    with pytest.raises(
        ValueError, match="has pictures: for the images one of x_train, images_train, images, x is needed"
    ):
        load(file)
    np.savez(file, x=np.zeros((2, 3)), y=np.zeros(2))
    with pytest.raises(ValueError, match="has images of shape"):
        load(file)
    np.savez(file, x=np.full((2, 3, 3), 7.0), y=np.zeros(2))
    with pytest.raises(ValueError, match=r"has images from 7\.0 to 7\.0"):
        load(file)


def test_pickled_objects_in_an_archive_are_not_loaded(tmp_path):
    np.savez(tmp_path / "d.npz", x=np.array([{"a": 1}], dtype=object), y=np.zeros(1))
    with pytest.raises(ValueError, match="allow_pickle"):
        load(tmp_path / "d.npz")


def test_affnist_files(tmp_path):
    pictures = np.random.default_rng(0).integers(0, 256, (5, 40, 40)).astype(np.uint8)
    flat = pictures.swapaxes(1, 2).reshape(5, 1600).T
    savemat(tmp_path / "1.mat", {"affNISTdata": {"image": flat, "label_int": np.arange(5)}})
    data = load("affnist", "test", root=tmp_path)
    assert torch.equal(data.images[:, 0], torch.from_numpy(pictures))
    assert data.labels.tolist() == [0, 1, 2, 3, 4]


def test_affnist_troubles_are_named(tmp_path):
    with pytest.raises(DataUnavailableError, match=r"name their directory with root=; 'affine_mnist'"):
        load("affnist", "test")
    with pytest.raises(FileNotFoundError, match=r"there are no \.mat files"):
        load("affnist", "test", root=tmp_path)
    (tmp_path / "1.mat").write_bytes(b"nonsense" * 40)
    with pytest.raises(ValueError, match=r"1\.mat is not an AffNIST file"):
        load("affnist", "test", root=tmp_path)


class Evil:
    def __reduce__(self):
        import os

        return os.system, ("touch /tmp/torchcaps-was-here",)


def test_the_unpickler_reads_arrays_and_nothing_else():
    batch = {b"data": np.zeros((1, 3072), np.uint8), b"labels": [3]}
    assert read_batch(pickle.dumps(batch, 2))[b"labels"] == [3]
    with pytest.raises(ValueError, match="which no CIFAR batch contains: it is not read"):
        read_batch(pickle.dumps({b"data": Evil()}))
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
