"""Files read in bounded pieces: what unpacks to more than it may is refused before it fills the memory."""

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

PIECE = 1 << 20
MOST = 1 << 28  # bytes of a file; the largest of a data set has 155 MB
MOST_IN_ARCHIVE = 1 << 30  # bytes of all that an archive unpacks to
DAMAGE = EOFError, OSError, OverflowError, tarfile.TarError, lzma.LZMAError, zlib.error
COMPRESSED: dict[bytes, Callable[[Any], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
Files = dict[str, bytes]


@runtime_checkable
class Stream(Protocol):
    """What can be read in pieces."""

    def read(self, size: int = -1, /) -> bytes:
        """The next so many bytes, or fewer; none at the end."""


def whole(stream: Stream, name: str, most: int | None = None) -> bytes:
    """All that a stream holds; a `ValueError` that quotes `name` if that is more than `most` bytes (`MOST`).

    >>> whole(io.BytesIO(b"all of it"), "a file")
    b'all of it'
    >>> whole(io.BytesIO(b"all of it"), "a file", most=3)
    Traceback (most recent call last):
    ValueError: a file holds more than 3 bytes: it is damaged or another file
    """
    most, found = MOST if most is None else most, io.BytesIO()
    while piece := stream.read(PIECE):
        if found.tell() + len(piece) > most:
            raise ValueError(f"{name} holds more than {most:,} bytes: it is damaged or another file")
        found.write(piece)
    return found.getvalue()


def read_bounded(path: Path, name: str | None = None) -> bytes:
    """A file's bytes, unpacked if it is called `.gz`, or `name` is; damage is a `ValueError` that names it."""
    with path.open("rb") as file:
        return unpacked(file, name or path.name)


def unpacked(stream: Stream, name: str) -> bytes:
    """What a stream holds, unpacked if it is called `.gz`; damage is a `ValueError` that names it.

    >>> unpacked(io.BytesIO(gzip.compress(b"five")), "a.gz")
    b'five'
    """
    with damage_named(name):
        if not name.endswith(".gz"):
            return whole(stream, name)
        packed: Any = stream
        with gzip.open(packed) as inner:
            return whole(inner, name)


def members(archive: Path | bytes, names: Sequence[str]) -> Files:
    """The named files of a tar archive, read into memory whatever folder they lie in: nothing is unpacked to disk."""
    wanted = {f"{name}{suffix}": name for name in names for suffix in ("", ".gz")}
    found: Files = {}
    for name, stream in entries(archive):
        last = name.rsplit("/", 1)[-1]
        if last in wanted:
            found[wanted[last]] = unpacked(stream, last)
    return found


def entries(archive: Path | bytes) -> Iterator[tuple[str, Stream]]:
    """The files of a tar archive, compressed or not, in its order, each with a stream to read it from."""
    file = io.BytesIO(archive) if isinstance(archive, bytes) else archive.open("rb")
    with file, damage_named("the archive"):
        start = file.read(6)
        file.seek(0)
        opened = next((opened for magic, opened in COMPRESSED.items() if start.startswith(magic)), None)
        careful: Any = Careful(file if opened is None else opened(file))
        with tarfile.open(fileobj=careful, mode="r:") as tar:
            for member in tar:
                stream = tar.extractfile(member) if member.isreg() else None
                if stream is not None:
                    yield member.name, stream


class Careful:
    """A stream of which nobody reads a large piece at once, or goes far into: sizes in headers are only claims."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def read(self, size: int = -1) -> bytes:
        """At most a `PIECE`."""
        if not 0 <= size <= PIECE:
            raise tarfile.ReadError(f"a header says that {size:,} bytes follow")
        self._check(self.stream.tell())
        found: bytes = self.stream.read(size)
        return found

    def seek(self, to: int, whence: int = 0) -> int:
        """Within the first `MOST_IN_ARCHIVE` bytes."""
        self._check(to)
        return int(self.stream.seek(to, whence))

    def tell(self) -> int:
        """How far it is read."""
        return int(self.stream.tell())

    def _check(self, at: int) -> None:
        if at > MOST_IN_ARCHIVE:
            raise tarfile.ReadError(f"it holds more than {MOST_IN_ARCHIVE:,} bytes")


@contextmanager
def damage_named(name: str) -> Iterator[None]:
    """Turn what decompressors and archives raise over damage into a `ValueError` that begins with `name`."""
    try:
        yield
    except DAMAGE as error:
        raise ValueError(f"{name} is truncated or damaged: {error}") from error
