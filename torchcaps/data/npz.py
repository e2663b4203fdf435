"""A NumPy archive of images and labels, with parts of its own or without."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from einops import rearrange
from jaxtyping import Shaped, UInt8
from torch import Tensor

from torchcaps.data._npy import Arrays
from torchcaps.data._sixteen import over_257
from torchcaps.data.inventory import Inventory
from torchcaps.data.labels import understood
from torchcaps.data.own import OwnImages
from torchcaps.data.parts import Item, part_named

IMAGES, LABELS = ("x", "images"), ("y", "labels")
CHANNELS = (1, 3, 4)
PIECE = 1 << 22  # bytes of images that become others at a time


class Archive(OwnImages):
    """The arrays `x_train`, `y_train`, `x_test`, `y_test` (and `x_val`, `y_val`) of an `.npz` file, or `x` and `y`.

    `images` and `labels` serve as well as `x` and `y`. Images are (n, h, w), (n, h, w, c) or (n, c, h, w), as bytes, as
    16 bits or as floats from 0 to 1. Nothing is unpickled.

    Args:
        make_missing: whether missing training or test arrays are made from the others.
    """

    def __init__(self, file: Path, *, make_missing: bool = False) -> None:
        self.arrays = Arrays(file)
        pairs = _pairs(self.arrays)
        classes, labels = understood({f"{file}: {y}": self.arrays[y] for _, y in pairs.values()})
        self.pixels = dict[str, UInt8[np.ndarray, "n c h w"]]()
        items = list[Item]()
        for (part, (x, _)), numbers in zip(pairs.items(), labels.values(), strict=True):
            raw = self.arrays[x]
            self.pixels[x] = as_bytes(raw, f"{file}: {x}")
            if len(raw) != len(numbers):
                raise ValueError(f"{file}: {x} has {len(raw)} images, but there are {len(numbers)} labels")
            digests = (hashlib.sha256(image.tobytes()).digest() for image in raw)
            given = part or None
            items += [Item(f"{x}[{k}]", d, int(numbers[k]), given) for k, d in enumerate(digests)]
        shapes = {x: pixels.shape[1:] for x, pixels in self.pixels.items()}
        if len(set(shapes.values())) > 1:
            raise ValueError(f"{file} has images of different shapes: {shapes}")
        self.image_shape = next(iter(shapes.values()))
        super().__init__(str(file), classes, items, make_missing=make_missing)

    def place(self, part: str) -> str:
        """Arrays beside those of the other parts."""
        ending = "val" if part == "validation" else part
        return f"x_{ending} and y_{ending} beside x_train and y_train"

    def read(self, items: Sequence[Item]) -> tuple[UInt8[Tensor, "n c h w"], list[Item]]:
        """The rows of the arrays."""
        rows = [item.name.removesuffix("]").rsplit("[", 1) for item in items]
        images = np.stack([self.pixels[x][int(k)] for x, k in rows])
        self.sizes[(self.image_shape[2], self.image_shape[1])] += len(items)
        return torch.from_numpy(images), list(items)

    def inventory(self) -> Inventory:
        """Rows have no names: their contents stand for them, so that one that comes or goes renames no other."""
        seen: dict[str, str] = {}
        for item in self.items:
            name = f"{item.name.rsplit('[', 1)[0]} {item.digest.hex()[:32]}"
            seen[name] = f"{seen.get(name, '')} {self.classes[item.label]}".strip()
        return Inventory(seen)


def _pairs(arrays: Arrays) -> dict[str, tuple[str, str]]:
    """The arrays of images and labels of each part; of the part '' where the file has none."""
    found: dict[str, tuple[str, str]] = {}
    for name in arrays.names:
        stem, _, ending = name.partition("_")
        part = "" if name in IMAGES else part_named(ending)
        if stem not in IMAGES or part is None:
            continue
        labels = [f"{y}_{ending}" if ending else y for y in LABELS]
        have = [label for label in labels if label in arrays]
        if not have:
            raise ValueError(f"{arrays.file} has {name}, but no labels for it: {' or '.join(labels)} is needed")
        if part in found:
            raise ValueError(f"{arrays.file} has both {found[part][0]} and {name}: one is enough")
        found[part] = (name, have[0])
    if not found:
        raise ValueError(
            f"{arrays.file} has {', '.join(arrays.names) or 'nothing in it'}: for the images x or images, or x_train "
            f"and x_test, is needed, with y or labels beside"
        )
    if "" in found and len(found) > 1:
        others = ", ".join(x for part, (x, _) in found.items() if part)
        raise ValueError(f"{arrays.file} has {found[''][0]} beside {others}: name its part too, as in x_train")
    return found


def as_bytes(images: np.ndarray, name: str) -> UInt8[np.ndarray, "n c h w"]:
    """Images of any shape and kind of numbers that people write; `name` is for messages."""
    if images.ndim == 3:
        images = rearrange(images, "n h w -> n 1 h w")
    elif images.ndim == 4:
        images = channels_first(images)
    if images.ndim != 4 or not images.size:
        raise ValueError(f"{name} has the shape {images.shape}: (n, h, w), (n, h, w, c) or (n, c, h, w) is needed")
    return np.ascontiguousarray(_scaled(images, name))


def channels_first(images: Shaped[np.ndarray, "n _ _ _"]) -> Shaped[np.ndarray, "n c h w"]:
    """Images whose channels stand last, where 1, 3 or 4 numbers there can be nothing else, with the channels first."""
    last = images.shape[-1] in CHANNELS and images.shape[1] not in (1, 3)
    return rearrange(images, "n h w c -> n c h w") if last else images


def _scaled(images: np.ndarray, name: str) -> UInt8[np.ndarray, "n c h w"]:
    """Numbers as bytes, by what kind they are and never by how large they happen to be."""
    kind, bits = images.dtype.kind, images.dtype.itemsize * 8
    if images.dtype == np.uint8:
        return images
    if kind == "b":
        return images * np.uint8(255)
    if kind == "u" and bits == 16:
        return _in_pieces(images, over_257)
    if kind not in "iuf":
        raise ValueError(f"{name} holds {images.dtype}, and images are numbers")
    low, high = images.min(), images.max()
    if kind == "f" and 0 <= low <= high <= 1:
        return _in_pieces(images, lambda some: np.round(some * 255))
    if kind in "iu" and low >= 0 and 1 < high <= 255:
        return images.astype(np.uint8)
    raise ValueError(
        f"{name} has numbers from {low} to {high} of {images.dtype}: bytes from 0 to 255, 16 bits without sign, or "
        f"floats from 0 to 1 are needed"
    )


def _in_pieces(images: np.ndarray, made: Callable[[np.ndarray], np.ndarray]) -> UInt8[np.ndarray, "n c h w"]:
    """Some images after the other as bytes: what lies between is as large as the numbers it is made of."""
    found = np.empty(images.shape, np.uint8)
    some = max(1, PIECE // max(1, images[0].nbytes))
    for k in range(0, len(images), some):
        found[k : k + some] = made(images[k : k + some])
    return found
