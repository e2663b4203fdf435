"""CIFAR-100: 60,000 colour images of 32×32 in a hundred classes, from the original batches or from pictures in folders.

Whatever they come from, two files hold them: for each image a byte for its class and 3,072 for its pixels, in the order
of the SHA-256 of these 3,073 bytes. So images have the same order and the files the same checksum from every source.
"""

import hashlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from torchcaps.data._bounded import Files, entries, members, read_bounded, unpacked
from torchcaps.data._cache import matches
from torchcaps.data._dataset import Stored
from torchcaps.data._sources import Directory, Recipe, Report, Source, Web, obtain
from torchcaps.data.cifar import read_batch

CLASSES, SHAPE = 100, (3, 32, 32)
RECORD = 1 + 3 * 32 * 32
TOLD = 5000  # pictures between two lines of progress
BATCHES = {"train": "16019d7e3df5f24257cddd939b257f8d", "test": "f0ef6b0ae62326f3e7ffdfab6717acfc"}
"""The original pickles."""


def records(pixels: Sequence[bytes], labels: Sequence[int]) -> bytes:
    """Images with their classes, in an order that does not depend on the one they come in.

    >>> records([b"a", b"b"], [7, 3]) == records([b"b", b"a"], [3, 7])
    True
    """
    whole = (bytes([label]) + image for image, label in zip(pixels, labels, strict=True))
    return b"".join(sorted(whole, key=lambda record: hashlib.sha256(record).digest()))


class Batches:
    """A source of the original pickles, made into our files."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @property
    def label(self) -> str:
        """That of the pickles."""
        return self.source.label

    def fetch(self, names: Sequence[str]) -> Files:
        """Both files, from pickles whose checksums are right."""
        found = self.source.fetch(list(BATCHES))
        for name, checksum in BATCHES.items():
            if name not in found:
                raise ValueError(f"{name} is not there")
            if not matches(found[name], checksum):
                raise ValueError(f"{name} is damaged or another file: its checksum is wrong")
        return {f"{split}.bin": _from_batch(found[split]) for split in BATCHES}


def _from_batch(data: bytes) -> bytes:
    batch = read_batch(data)
    return records([bytes(image) for image in batch[b"data"]], batch[b"fine_labels"])


class Archive:
    """A tar archive of the original pickles."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def label(self) -> str:
        """The archive."""
        return f"archive {self.path}"

    def fetch(self, names: Sequence[str]) -> Files:
        """The named members."""
        return members(self.path, names)


class Given:
    """What a user names: a directory or tar archive with `train/<class>/<name>.png`, or with the original pickles."""

    def __init__(self, path: Path, report: Report = lambda _: None) -> None:
        self.path, self.report = path, report

    @property
    def label(self) -> str:
        """The directory or archive."""
        return str(self.path)

    def fetch(self, names: Sequence[str]) -> Files:
        """Both files; pictures are read if there are any, else the pickles."""
        if not self.path.exists():
            raise FileNotFoundError("no such file or directory")
        found = self._pictures()
        if not found:
            return Batches(Directory(self.path) if self.path.is_dir() else Archive(self.path)).fetch(names)
        classes = sorted({name for _, name, _ in found})
        if len(classes) > CLASSES:
            raise ValueError(f"it has {len(classes)} classes, and CIFAR-100 has {CLASSES}")
        label = {name: k for k, name in enumerate(classes)}
        return {f"{split}.bin": _chosen(found, split, label) for split in BATCHES}

    def _pictures(self) -> list[tuple[str, str, bytes]]:
        """Split, class and pixels of each picture."""
        found = list[tuple[str, str, bytes]]()
        for name, data in _files(self.path):
            split, kind, _ = name.split("/")[-3:]
            found.append((split, kind, _pixels(name, data)))
            if len(found) % TOLD == 0:
                self.report(f"{len(found):,} pictures read")
        return found


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for file in sorted(path.glob("*/*/*.png")):
            if file.parts[-3] in BATCHES:
                yield file.relative_to(path).as_posix(), read_bounded(file)
        return
    for name, stream in entries(path):
        parts = name.split("/")
        if name.endswith(".png") and len(parts) >= 3 and parts[-3] in BATCHES:
            yield name, unpacked(stream, name)


def _pixels(name: str, data: bytes) -> bytes:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            if image.size != SHAPE[1:] or image.mode != "RGB":
                raise ValueError(f"it is {image.mode} of {image.size[0]}×{image.size[1]}, and should be RGB of 32×32")
            return np.asarray(image).transpose(2, 0, 1).tobytes()
    except (OSError, ValueError, SyntaxError) as error:
        raise ValueError(f"{name} cannot be read: {error}") from error


def _chosen(found: Sequence[tuple[str, str, bytes]], split: str, label: dict[str, int]) -> bytes:
    own = [(pixels, label[name]) for where, name, pixels in found if where == split]
    return records([pixels for pixels, _ in own], [k for _, k in own])


CIFAR100 = Recipe(
    "cifar100",
    {
        "train.bin": "43de8f4eb77d5528ce004111a40b95806bd55c2a97b2cd760edcc3ad6224843c",
        "test.bin": "9ba650f9fc92e03a044c331a4f9377c2671283142cfe7aa6f3beadaba0ce135e",
    },
    (Batches(Web("https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz", archive=True)),),
    "not stated; free for research, cite Krizhevsky 2009",
    184,
    Given,
)


def load_cifar100(split: str, root: Path | None = None, report: Report = lambda _: None) -> Stored:
    """A hundred classes of natural images (Krizhevsky 2009), in the order of their digests.

    Args:
        root: a directory or tar archive of pictures, `train/<class>/<name>.png`, or of the original pickles.
    """
    whole = obtain(CIFAR100, root, report)[f"{split}.bin"]
    both = torch.frombuffer(bytearray(whole), dtype=torch.uint8).reshape(-1, RECORD)
    names = tuple(f"class {k}" for k in range(CLASSES))
    return Stored(both[:, 1:].reshape(-1, *SHAPE).clone(), both[:, 0].long(), names)
