"""Data: real sets found on any machine, generators as fast as the training, and a user's own images.

Everything lives in memory as bytes and is cut, moved and warped in whole batches; no worker processes are needed.
"""

import difflib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torchcaps.data._before import load_as_before
from torchcaps.data._cache import cache_dir
from torchcaps.data._dataset import Batch, Dataset, Stored
from torchcaps.data._sources import DataUnavailableError, Recipe, obtain
from torchcaps.data._tree import pictures
from torchcaps.data.affnist import load_affnist
from torchcaps.data.augment import Augmented
from torchcaps.data.balanced import Balanced
from torchcaps.data.cifar import CIFAR10, load_cifar10
from torchcaps.data.cifar100 import CIFAR100, load_cifar100
from torchcaps.data.folder import Folder
from torchcaps.data.glyphs import load_glyphs
from torchcaps.data.inventory import Inventory
from torchcaps.data.mnist import FASHION, MNIST, load_fashion, load_mnist
from torchcaps.data.npz import Archive
from torchcaps.data.overlapping import Overlapping
from torchcaps.data.own import OwnImages
from torchcaps.data.photograph import read_image
from torchcaps.data.placed import Affine, Placed
from torchcaps.data.reading import Reading
from torchcaps.data.sign import Sign
from torchcaps.data.warp import Strength

SPLITS = ("train", "test")
CONTENTS, NAMES = "contents", "names"
RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (MNIST, FASHION, CIFAR10, CIFAR100)}
STORED: dict[str, Callable[..., Stored]] = {
    "mnist": load_mnist,
    "fashion_mnist": load_fashion,
    "cifar10": load_cifar10,
    "cifar100": load_cifar100,
    "affnist": load_affnist,
    "glyphs": load_glyphs,
}


def _diverse(source: Stored, **options: Any) -> Overlapping:
    return Overlapping(source, **{"single": 1 / 6, **options})


def _affine(source: Stored, *, strength: Strength | dict[str, Any] | None = None, **options: Any) -> Affine:
    return Affine(source, strength=Strength(**strength) if isinstance(strength, dict) else strength, **options)


GENERATORS: dict[str, Callable[..., Dataset]] = {
    "placed_mnist": Placed,
    "affine_mnist": _affine,
    "multi_mnist": Overlapping,
    "diverse_multi_mnist": _diverse,
}


def list_datasets() -> list[str]:
    """The names that `load` knows; it also takes the path of a folder of images or of an .npz file.

    >>> "multi_mnist" in list_datasets()
    True
    """
    return sorted([*STORED, *GENERATORS, "sign"])


def load(name: str | Path, split: str = "train", *, source: str | Stored = "mnist", **options: Any) -> Dataset:
    """A data set by name, or a user's own images by path.

    >>> data = load("multi_mnist", "test", source="glyphs")
    >>> batch = data.batch(torch.arange(4))
    >>> batch.images.shape, batch.labels.shape
    (torch.Size([4, 1, 36, 36]), torch.Size([4, 2]))

    Args:
        split: "train" or "test"; they never share an image. Of a user's own images also "validation".
        source: what a generator draws from: a name, or a stored data set that is parted already.
        options: of the data set: `root` (a directory with its files) for the real ones, `seed` and the like for
            generators, `image_size`, `in_chans`, `fit` and more of `Folder` for a folder; for a user's own images
            `validation`, a share of the training images that is kept apart, `strict`, which makes an error of a file
            that cannot be read, and `rule`: "contents", or "names" for networks trained before parts went by contents.
    """
    if name not in list_datasets():
        return _load_own(name, split, **options)
    if split not in SPLITS:
        raise ValueError(f"split={split!r} is not allowed: choose 'train' or 'test'")
    if name == "sign":
        return Sign.part(split, **options)
    if name in STORED:
        return STORED[str(name)](split, **options)
    digits = load(source, split) if isinstance(source, str) else source
    if not isinstance(digits, Stored):
        raise ValueError(f"source={source!r} is not allowed: a generator draws from a stored data set")
    return GENERATORS[str(name)](digits, **options)


def look_through(path: str | Path, **options: Any) -> OwnImages:
    """A user's own images, in a folder or an .npz file: what there is, before any of it is read.

    >>> look_through("nowhere")
    Traceback (most recent call last):
    ValueError: there is no data set and no folder 'nowhere': ...

    Args:
        options: of `Folder` or `Archive`.
    """
    path = Path(path)
    if path.is_dir():
        return Folder(path, **options)
    if path.suffix == ".npz":
        return Archive(path, **options)
    near = difflib.get_close_matches(str(path), list_datasets(), n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(map(repr, near))}? " if near else ""
    raise ValueError(f"there is no data set and no folder {str(path)!r}: {hint}Known: {', '.join(list_datasets())}")


def _load_own(path: str | Path, split: str, *, validation: float = 0.0, strict: bool = False, **options: Any) -> Stored:
    if options.pop("rule", CONTENTS) == NAMES:
        return load_as_before(Path(path), split, **options)
    own = look_through(path, **options)
    data = own.load(split, validation=validation)
    if own.skipped and strict:
        raise ValueError(own.complaint())
    if own.skipped:
        warnings.warn(own.complaint(), stacklevel=3)
    return data


__all__ = [
    "CONTENTS",
    "GENERATORS",
    "NAMES",
    "RECIPES",
    "STORED",
    "Affine",
    "Augmented",
    "Balanced",
    "Batch",
    "DataUnavailableError",
    "Dataset",
    "Inventory",
    "Overlapping",
    "OwnImages",
    "Placed",
    "Reading",
    "Sign",
    "Stored",
    "Strength",
    "cache_dir",
    "list_datasets",
    "load",
    "look_through",
    "obtain",
    "pictures",
    "read_image",
]
