"""MATLAB files whose compressed parts are unpacked here, in bounded pieces, before anything reads them."""

import io
import struct
import zlib
from pathlib import Path
from typing import Any

from torchcaps.data._bounded import MOST, PIECE

HEADER, TAG, COMPRESSED = 128, 8, 15
TROUBLE = (
    KeyError, AttributeError, ValueError, OSError, TypeError, NotImplementedError, IndexError, OverflowError,
    MemoryError, zlib.error, struct.error,
)  # fmt: skip


def read_variable(file: Path, name: str) -> Any:
    """One variable of a MATLAB file of version 5, as SciPy gives it; whatever is wrong with the file is a `ValueError`.

    >>> from tempfile import TemporaryDirectory
    >>> from scipy.io import savemat
    >>> with TemporaryDirectory() as folder:
    ...     savemat(Path(folder, "a.mat"), {"seven": 7}, do_compression=True)
    ...     int(read_variable(Path(folder, "a.mat"), "seven"))
    7
    """
    from scipy.io import loadmat  # type: ignore[import-untyped]
    from scipy.io.matlab import MatReadError  # type: ignore[import-untyped]

    try:
        plain = io.BytesIO(_plain(file))
        return loadmat(plain, squeeze_me=True, struct_as_record=False, variable_names=[name])[name]
    except (*TROUBLE, MatReadError) as error:
        raise ValueError(f"{file} cannot be read: {error}") from error


def _plain(file: Path) -> bytes:
    """The file without compression: what its compressed elements hold, in their place."""
    if file.stat().st_size > MOST:
        raise ValueError(f"it has more than {MOST:,} bytes")
    data = file.read_bytes()
    order = ">" if data[126:128] == b"MI" else "<"
    made, at = io.BytesIO(), HEADER
    made.write(data[:HEADER])
    while at + TAG <= len(data):
        kind, size = struct.unpack(f"{order}II", data[at : at + TAG])
        end = at + TAG + size
        if end > len(data):
            raise ValueError(f"an element says that it has {size:,} bytes, but {len(data) - at - TAG:,} are there")
        if kind == COMPRESSED:
            _inflate(memoryview(data)[at + TAG : end], made)
        else:
            made.write(data[at:end])
        at = end
    return made.getvalue()


def _inflate(packed: memoryview, into: io.BytesIO) -> None:
    machine, left = zlib.decompressobj(), bytes(packed)
    while not machine.eof:
        piece = machine.decompress(left, PIECE)
        left = machine.unconsumed_tail
        if not piece and not left:
            break
        if into.tell() + len(piece) > MOST:
            raise ValueError(f"it unpacks to more than {MOST:,} bytes")
        into.write(piece)
    if not machine.eof:
        raise ValueError("a compressed element is cut off")
