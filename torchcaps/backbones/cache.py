"""Features of a frozen backbone: computed once, kept on disk by contents of images, preprocessing and weights."""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from filelock import Timeout
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from torchcaps._memory import memory
from torchcaps._paths import cache_home
from torchcaps.backbones._trunk import Trunk
from torchcaps.backbones.compute import Computer
from torchcaps.backbones.shelf import FACTS, Shelf, rows_of, size_of

CHUNK = 64  # images between two times that features are written
PATIENCE = 120.0  # seconds to wait for another process that computes a chunk
LIMIT, LIMIT_NAME = 10, "TORCHCAPS_FEATURES_GB"
MOST = 0.5  # share of the memory there is that features may take where they cannot be kept


class Features(NamedTuple):
    """Feature maps, and which of them is each image's.

    Args:
        computed: how many had to be.
        problem: why they are not kept on disk; '' if they are.
    """

    maps: Float[Tensor, "m c h w"]
    rows: Int[Tensor, " n"]
    computed: int = 0
    problem: str = ""


class FeatureCache:
    """Feature maps on disk, oldest use first to go where there is too much; without a disk to write to, in memory.

    >>> from torchcaps.backbones import load_backbone
    >>> cache = FeatureCache(keep=False)
    >>> found = cache.features(load_backbone("efficientnet_lite0"), torch.zeros(2, 3, 64, 64, dtype=torch.uint8))

    Args:
        home: the folder; that of all caches if not given.
        limit: bytes that all of it may take; 10 GB, or what TORCHCAPS_FEATURES_GB says.
        keep: whether anything is read from disk and written to it.
    """

    def __init__(self, home: Path | None = None, *, limit: int | None = None, keep: bool = True) -> None:
        self.home = features_home() if home is None else home
        self.limit = usual_limit() if limit is None else limit
        self.keep = keep

    def features(
        self, trunk: Trunk, images: UInt8[Tensor, "n c h w"], report: Callable[..., None] = lambda *_: None
    ) -> Features | None:
        """The feature map of each image; None if there is neither disk nor memory for them."""
        compute = Computer(trunk, images)
        digests = [hashlib.sha256(image.numpy().tobytes()).digest() for image in images]
        first = {digest: k for k, digest in reversed(list(enumerate(digests)))}
        shelf = self.shelf(trunk, tuple(images.shape[1:]), compute.shape)
        try:
            if not self.keep:
                raise OSError("it was asked for so")
            computed = self._fill(shelf, compute, first, report)
            return self._read(shelf, digests, computed)
        except (OSError, Timeout) as error:
            if shelf.bytes * len(first) > MOST * memory():
                return None
            places = {digest: row for row, digest in enumerate(first)}
            rows = torch.tensor([places[digest] for digest in digests], dtype=torch.long)
            maps = self._in_memory(shelf, compute, first, report)
            return Features(maps, rows, len(first), str(error) or type(error).__name__)

    def shelf(self, trunk: Trunk, image: Sequence[int], shape: tuple[int, int, int]) -> Shelf:
        """Where features of such images by this backbone lie: weights, preprocessing and size are in the name."""
        key = hashlib.sha256(f"{trunk.digest()} {tuple(image)} {shape}".encode()).hexdigest()[:32]
        facts = {"backbone": trunk.name, "image": list(image), "map": list(shape)}
        return Shelf(self.home / key, shape, facts)

    def _fill(self, shelf: Shelf, compute: Computer, first: dict[bytes, int], report: Callable[..., None]) -> int:
        """Compute what is not there, a chunk at a time; gives how many that were."""
        missing = [digest for digest in first if digest not in shelf.entries()]
        self._make_room(shelf, len(missing) * shelf.bytes)
        done = 0
        for start in range(0, len(missing), CHUNK):
            report(f"features of {shelf.facts['backbone']}", start, len(missing))
            with shelf.locked(PATIENCE):
                there = shelf.entries()  # another process may have been here
                chunk = [digest for digest in missing[start : start + CHUNK] if digest not in there]
                if chunk:
                    shelf.append(chunk, compute([first[digest] for digest in chunk]))
            done += len(chunk)
        return done

    def _read(self, shelf: Shelf, digests: list[bytes], computed: int) -> Features:
        with shelf.locked(PATIENCE):
            entries = shelf.entries()
            if not entries.keys() >= set(digests):
                raise OSError("they were removed meanwhile")
            maps = shelf.maps()
            if not shelf.are_whole([entries[digest] for digest in set(digests)], maps):
                shelf.remove()
                raise OSError(f"{shelf.folder} was damaged, and is removed")
            shelf.used()
        return Features(maps, rows_of(entries, digests), computed)

    def _in_memory(
        self, shelf: Shelf, compute: Computer, first: dict[bytes, int], report: Callable[..., None]
    ) -> Float[Tensor, "n c h w"]:
        order, maps = list(first.values()), torch.empty(len(first), *shelf.shape)
        for start in range(0, len(order), CHUNK):
            report(f"features of {shelf.facts['backbone']}", start, len(order))
            maps[start : start + CHUNK] = compute(order[start : start + CHUNK])
        return maps

    def _make_room(self, shelf: Shelf, wanted: int) -> None:
        """Let go of others, those that were not used for longest first; what is in use stays."""
        if shelf.size + wanted > self.limit:
            raise OSError(
                f"they take {(shelf.size + wanted) / 1e9:.1f} GB, and {self.limit / 1e9:g} are allowed: {LIMIT_NAME} "
                f"allows more"
            )
        others = [one for one in shelves(self.home) if one["folder"] != shelf.folder]
        taken = shelf.size + wanted + sum(one["bytes"] for one in others)
        for other in sorted(others, key=lambda one: one["used"]):
            if taken > self.limit and _let_go(other["folder"]):
                taken -= other["bytes"]


def features_home() -> Path:
    """Where features are kept.

    >>> features_home().name
    'features'
    """
    return cache_home() / "features"


def usual_limit() -> int:
    """Bytes that features may take in all."""
    said = os.environ.get(LIMIT_NAME, str(LIMIT))
    try:
        return int(float(said) * 1e9)
    except (ValueError, OverflowError):
        raise ValueError(f"{LIMIT_NAME}={said!r} is not allowed: give a number of gigabytes") from None


def shelves(home: Path | None = None) -> list[dict[str, Any]]:
    """What is kept: folder, backbone, size of the images, bytes, and when it was last of use.

    >>> shelves(Path("nowhere"))
    []
    """
    found = list[dict[str, Any]]()
    for file in sorted((features_home() if home is None else home).glob(f"*/{FACTS}")):
        try:
            facts, used = json.loads(file.read_text()), file.stat().st_mtime
            told = {"backbone": str(facts["backbone"]), "image": list(facts["image"])}
        except (OSError, ValueError, KeyError, TypeError):  # it goes, or was damaged
            told, used = {"backbone": "unknown", "image": []}, 0.0
        found.append({"folder": file.parent, **told, "bytes": size_of(file.parent), "used": used})
    return found


def clear(home: Path | None = None) -> tuple[int, int]:
    """Let go of everything; gives the bytes that are free, and how many shelves are in use and stay.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     clear(Path(folder))
    (0, 0)
    """
    found = shelves(home)
    gone = [one["bytes"] for one in found if _let_go(one["folder"])]
    return sum(gone), len(found) - len(gone)


def _let_go(folder: Path) -> bool:
    """Remove a shelf, unless another process is at work on it."""
    shelf = Shelf(folder, (1, 1, 1), {})
    try:
        with shelf.locked(0.0):
            shelf.remove()
    except Timeout:
        return False
    return True
