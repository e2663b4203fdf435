"""Arrays of an .npz file, whose headers are believed only after they have been checked."""

import zlib
from math import prod
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np
from numpy.lib import format as npy

from torchcaps._memory import memory

MOST_NUMBERS = 2**62
MOST_OF_MEMORY = 0.5  # share that one array may take: as bytes it lies beside what it was
LONGEST_HEADER = 1 << 16
SWOLLEN, TIMES = 1 << 28, 100  # bytes of an array, and times its size in the file, beyond which both it is no images
DAMAGE = OSError, BadZipFile, EOFError, RuntimeError, zlib.error  # a RuntimeError is one that is encrypted


class Arrays:
    """The arrays of a file by name, each read when it is asked for. Nothing is ever unpickled."""

    def __init__(self, file: Path) -> None:
        if not file.is_file():
            raise FileNotFoundError(f"there is no file {file}")
        if not is_zipfile(file):
            raise ValueError(f"{file} is not a NumPy archive of several arrays (np.savez writes one)")
        self.file = file
        with self._opened() as archive:
            self.names = [name.removesuffix(".npy") for name in archive.namelist()]

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> np.ndarray:
        with self._opened() as archive:
            member = self._member(archive, name)
            try:
                with archive.open(member) as stream:
                    shape, kind = self._header(stream, name)
                    told = archive.getinfo(member)
                    self._check(name, shape, kind, told.file_size - stream.tell())
                    self._check_swollen(name, told.file_size, told.compress_size)
                    stream.seek(0)
                    return np.asarray(npy.read_array(stream, allow_pickle=False))
            except DAMAGE as error:
                raise ValueError(f"{self.file}: {name} is damaged: {error}") from error

    def _opened(self) -> ZipFile:
        try:
            return ZipFile(self.file)
        except (OSError, BadZipFile, ValueError) as error:
            raise ValueError(f"{self.file} is not a NumPy archive: {error}") from error

    @staticmethod
    def _member(archive: ZipFile, name: str) -> str:
        return f"{name}.npy" if f"{name}.npy" in archive.namelist() else name

    def _header(self, stream: Any, name: str) -> tuple[tuple[int, ...], np.dtype]:
        """The shape and kind of numbers that an array says it has."""
        readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        try:
            stream = _Short(stream)
            version = npy.read_magic(stream)
            if version not in readers:
                raise ValueError(f"version {version} of the format is not read")
            shape, _, kind = readers[version](stream)
        except Exception as error:  # NumPy reads headers with Python's own tokenizer, which raises what it likes
            raise ValueError(f"{self.file}: {name} is no array of NumPy's: {error}") from error
        return shape, kind

    def _check(self, name: str, shape: tuple[int, ...], kind: np.dtype, size: int) -> None:
        what = f"{self.file}: {name} says it has the shape {shape} of {kind}"
        if kind.hasobject:
            raise ValueError(f"{self.file}: {name} holds pickled objects (allow_pickle), which can run code: not read")
        if any(not 0 <= side < MOST_NUMBERS for side in shape):
            raise ValueError(f"{what}, which no array has")
        needed = prod(shape) * kind.itemsize
        if needed != size:
            raise ValueError(f"{what}, {needed:,} bytes, but {size:,} are there")
        if needed > MOST_OF_MEMORY * memory():
            raise ValueError(f"{what}, {needed / 1e9:,.0f} GB: more than fits into memory, with room to work on it")

    def _check_swollen(self, name: str, size: int, packed: int) -> None:
        """Refuse what is nearly nothing in the file and fills the memory: images are never so alike."""
        if size > SWOLLEN and size > TIMES * packed:
            raise ValueError(
                f"{self.file}: {name} unpacks from {packed:,} to {size:,} bytes, {size / packed:,.0f} times as many: "
                f"no images do. If they are right, write them with np.savez, which does not compress"
            )


class _Short:
    """A stream for a header, whose own word on its length is not believed."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def read(self, size: int) -> bytes:
        """At most `LONGEST_HEADER` bytes."""
        if size > LONGEST_HEADER:
            raise ValueError(f"its header says that it is {size:,} bytes long")
        found: bytes = self.stream.read(size)
        return found
