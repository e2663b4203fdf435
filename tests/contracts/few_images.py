"""A few made-up images for every data set there is, so that each can be loaded without a network."""

import pickle
import struct

import numpy as np
from PIL import Image
from scipy.io import savemat

from torchcaps.data.cifar100 import records

COUNT = {"train": 60, "test": 30}
RNG = np.random.default_rng(0)


def idx(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def noise(count, *shape):
    return RNG.integers(0, 256, (count, *shape)).astype(np.uint8)


def _mnist(monkeypatch, folder):
    from torchcaps.data.mnist import _NAMES

    files = {}
    for part, (images, labels) in _NAMES.items():
        files[images] = idx(noise(COUNT[part], 28, 28))
        files[labels] = idx((np.arange(COUNT[part]) % 10).astype(np.uint8))
    monkeypatch.setattr("torchcaps.data.mnist.obtain", lambda *_: files)
    return {}


def _cifar(monkeypatch, folder):
    def batch(count):
        labels = (np.arange(count) % 10).tolist()
        return pickle.dumps({b"data": noise(count, 3072), b"labels": labels}, 2)

    names = ["test_batch", *(f"data_batch_{k}" for k in range(1, 6))]
    files = {name: batch(20) for name in names}
    monkeypatch.setattr("torchcaps.data.cifar.obtain", lambda *_: files)
    return {}


def _cifar100(monkeypatch, folder):
    files = {f"{part}.bin": records([row.tobytes() for row in noise(count, 3072)], [k % 10 for k in range(count)])
             for part, count in COUNT.items()}  # fmt: skip
    monkeypatch.setattr("torchcaps.data.cifar100.obtain", lambda *_: files)
    return {}


def _affnist(monkeypatch, folder):
    for part, count in COUNT.items():
        (folder / part).mkdir()
        images = {"image": noise(1600, count), "label_int": np.arange(count) % 10}
        savemat(folder / part / "1.mat", {"affNISTdata": images})
    return {"root": str(folder)}


def _glyphs(monkeypatch, folder):
    monkeypatch.setattr("torchcaps.data.glyphs.COUNTS", COUNT)
    return {}


STORED = {"mnist": _mnist, "fashion_mnist": _mnist, "cifar10": _cifar, "cifar100": _cifar100, "affnist": _affnist,
          "glyphs": _glyphs}  # fmt: skip


def _folder(root, parts=("",)):
    """Three classes of pictures; every fifth is there twice, under another name, class and part."""
    for k in range(100):
        part, label = parts[k % len(parts)], "abc"[k % 7 % 3]
        again = parts[(k + 1) % len(parts)], "abc"[(k + 1) % 3]
        picture = Image.fromarray(noise(1, 12, 12)[0])
        for where, name in [((part, label), f"{k}.png"), *([(again, f"copy {k}.png")] if k % 5 == 0 else [])]:
            (root.joinpath(*where)).mkdir(parents=True, exist_ok=True)
            picture.save(root.joinpath(*where) / name)
    return str(root), {}


def _arrays(file, *parts):
    x = noise(160, 12, 12)
    x[150:] = x[:10]
    y, each = np.arange(160) % 3, 160 // max(1, len(parts))
    arrays = {} if parts else {"x": x, "y": y}
    for k, part in enumerate(parts):
        some = slice(k * each, (k + 1) * each)
        arrays |= {f"x_{part}": x[some], f"y_{part}": y[some]}
    np.savez(file, **arrays)
    return str(file), {}


OWN = {
    "a folder": lambda at: _folder(at / "photos"),
    "a folder with parts": lambda at: _folder(at / "photos", ("train", "val", "test")),
    "a folder without validation": lambda at: _folder(at / "photos", ("train", "test")),
    "a folder made to have parts": lambda at: (_folder(at / "photos", ("train",))[0], {"make_missing": True}),
    "a folder of test images": lambda at: (_folder(at / "photos", ("test",))[0], {"make_missing": True}),
    "arrays": lambda at: _arrays(at / "mine.npz"),
    "arrays with parts": lambda at: _arrays(at / "mine.npz", "train", "val", "test"),
    "arrays made to have parts": lambda at: (_arrays(at / "mine.npz", "train")[0], {"make_missing": True}),
}
