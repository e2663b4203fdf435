"""Files of the published data sets, as their authors wrote them, and what is wrong with bad ones."""

import pickle

import numpy as np
import pytest
import torch
from scipy.io import savemat

from torchcaps.data import DataUnavailableError, load
from torchcaps.data.cifar import read_batch
from torchcaps.data.mnist import idx


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
