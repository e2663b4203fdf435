"""AffNIST: the original affinely transformed digits, 40×40, in MATLAB files; generated ones are affine MNIST."""

from pathlib import Path

import numpy as np
import torch

from torchcaps.data._dataset import Stored
from torchcaps.data._matlab import read_variable
from torchcaps.data._sources import DataUnavailableError
from torchcaps.data.mnist import DIGITS

FOLDERS = {
    "train": ("train", "training_and_validation_batches", "training_batches"),
    "test": ("test", "test_batches"),
}


def load_affnist(split: str, root: str | Path | None = None) -> Stored:
    """All `.mat` files of a split's sub-directory, under a plain name or the one that its archive gives it.

    The files have no published checksums; each is checked to hold 1600 pixels and a label a digit.
    """
    parts = [_read(file) for file in files_of(split, root)]
    images = torch.from_numpy(np.concatenate([images for images, _ in parts]))
    return Stored(images, torch.from_numpy(np.concatenate([labels for _, labels in parts])), DIGITS)


def files_of(split: str, root: str | Path | None) -> list[Path]:
    """The files of a split, sorted."""
    if root is None:
        raise DataUnavailableError(
            "affnist has no mirror that can be checked: download the 32x batches from the data set's page "
            "(cs.toronto.edu/~tijmen/affNIST), unpack them, and name their directory with root=; 'affine_mnist' "
            "generates images of the same kind"
        )
    root = Path(root)
    folders = [root / name for name in FOLDERS[split]] + [root] * (root.name in FOLDERS[split])
    files = next((found for folder in folders if (found := sorted(folder.glob("*.mat")))), [])
    if not files:
        raise FileNotFoundError(
            f"there are no .mat files for {split} in {root}: they are looked for in {', '.join(FOLDERS[split])} there, "
            f"so that those to learn from and those to test by stay apart"
        )
    return files


def _read(file: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        data = read_variable(file, "affNISTdata")
        images, labels = np.asarray(data.image), np.asarray(data.label_int)
    except (AttributeError, ValueError) as error:
        raise ValueError(f"{file} is not an AffNIST file: {error}") from error
    if images.ndim != 2 or images.shape[0] != 1600 or labels.shape != (images.shape[1],):
        raise ValueError(f"{file} is not an AffNIST file: images {images.shape}, labels {labels.shape}")
    # MATLAB stores columns first.
    pictures = images.T.reshape(-1, 1, 40, 40).swapaxes(2, 3).astype(np.uint8)
    return np.ascontiguousarray(pictures), labels.astype(np.int64)
