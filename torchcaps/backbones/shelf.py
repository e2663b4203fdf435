"""Feature maps of one backbone for images of one size, in two files: maps one after the other, and whose they are.

An entry is made after its map is on disk, so that a process killed at any time leaves whole maps and nothing else.
"""

import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from filelock import FileLock
from jaxtyping import Float, Int
from torch import Tensor

MAPS, INDEX, FACTS = "maps.bin", "index.bin", "shelf.json"
DIGEST, ENTRY = 32, 36  # bytes: of an image's SHA-256; and with the CRC-32 of its map


class Entry(NamedTuple):
    """Where a map lies, and its checksum."""

    row: int
    crc: int


class Shelf:
    """The maps in a folder; what changes it holds its lock.

    Args:
        shape: of a map, channels first; 32-bit floats.
        facts: what stands beside it for people.
    """

    def __init__(self, folder: Path, shape: tuple[int, int, int], facts: dict[str, Any]) -> None:
        self.folder, self.shape, self.facts = folder, shape, facts
        self.bytes = 4 * prod(shape)

    @contextmanager
    def locked(self, timeout: float = -1.0) -> Iterator[None]:
        """Of several processes one changes it and the others wait, at most `timeout` seconds if that is positive."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder.with_suffix(".lock"), timeout=timeout):
            yield

    def entries(self) -> dict[bytes, Entry]:
        """Of each image that is here, by its digest."""
        index, maps = self.folder / INDEX, self.folder / MAPS
        if not index.is_file() or not maps.is_file():
            return {}
        raw = index.read_bytes()
        count = min(len(raw) // ENTRY, maps.stat().st_size // self.bytes)
        cut = [raw[k * ENTRY : (k + 1) * ENTRY] for k in range(count)]
        return {one[:DIGEST]: Entry(row, int.from_bytes(one[DIGEST:])) for row, one in enumerate(cut)}

    def append(self, digests: Sequence[bytes], maps: Float[Tensor, "n c h w"]) -> None:
        """Add maps; what a killed process left half written is overwritten."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / FACTS).write_text(json.dumps(self.facts))
        count, numbers = len(self.entries()), maps.contiguous().numpy()
        _write(self.folder / MAPS, count * self.bytes, numbers.tobytes())
        entries = [digest + zlib.crc32(one.tobytes()).to_bytes(4) for digest, one in zip(digests, numbers, strict=True)]
        _write(self.folder / INDEX, count * ENTRY, b"".join(entries))

    def maps(self) -> Float[Tensor, "n c h w"]:
        """All of them, read page by page when they are asked for."""
        found = np.memmap(self.folder / MAPS, dtype=np.float32, mode="c")
        count = len(found) * 4 // self.bytes
        return torch.from_numpy(found[: count * self.bytes // 4]).reshape(count, *self.shape)

    def are_whole(self, entries: Sequence[Entry], maps: Float[Tensor, "n c h w"]) -> bool:
        """Whether these maps are what was written."""
        return all(zlib.crc32(maps[entry.row].numpy().tobytes()) == entry.crc for entry in entries)

    def used(self) -> None:
        """Note that it was of use today."""
        os.utime(self.folder / FACTS)

    def remove(self) -> None:
        """Let go of all of it; whoever reads it still can."""
        for name in (INDEX, MAPS, FACTS):
            (self.folder / name).unlink(missing_ok=True)
        self.folder.rmdir()

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return size_of(self.folder)


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder.

    >>> size_of(Path("nowhere"))
    0
    """
    return sum(file.stat().st_size for file in folder.glob("*")) if folder.is_dir() else 0


def rows_of(entries: dict[bytes, Entry], digests: Sequence[bytes]) -> Int[Tensor, " n"]:
    """Where the maps of these images lie."""
    return torch.tensor([entries[digest].row for digest in digests], dtype=torch.long)


def _write(path: Path, at: int, data: bytes) -> None:
    """Put bytes at a place of a file, flushed, and nothing behind them."""
    with path.open("r+b" if path.exists() else "w+b") as file:
        file.truncate(at)
        file.seek(at)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
