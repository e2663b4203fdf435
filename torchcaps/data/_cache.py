"""Where data lives on this machine: checked files, written whole or not at all, once even when several ask."""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from torchcaps._atomic import write_bytes
from torchcaps._paths import cache_home
from torchcaps.data._bounded import MOST


def cache_dir() -> Path:
    """`$TORCHCAPS_DATA`, or the platform's cache directory.

    >>> cache_dir().is_absolute()
    True
    """
    named = os.environ.get("TORCHCAPS_DATA")
    if named:
        return Path(named).expanduser()
    return cache_home()


def matches(data: bytes, checksum: str) -> bool:
    """Whether data has a checksum, a sha256 or an md5 by its length.

    >>> matches(b"", "d41d8cd98f00b204e9800998ecf8427e")
    True
    """
    kind = hashlib.md5 if len(checksum) == 32 else hashlib.sha256
    return kind(data).hexdigest() == checksum


def read_checked(path: Path, checksum: str) -> bytes | None:
    """The contents of a file, or None where it is missing or not what it should be."""
    if not path.is_file() or path.stat().st_size > MOST:
        return None
    data = path.read_bytes()
    return data if matches(data, checksum) else None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; a full disk is told with what helps."""
    try:
        write_bytes(path, data)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise OSError(
                errno.ENOSPC,
                f"no space left for {len(data):,} bytes in {path.parent}: free some, or set TORCHCAPS_DATA to a "
                f"directory on another disk",
            ) from error
        raise


@contextmanager
def only_one(directory: Path) -> Iterator[None]:
    """Hold a directory's lock: of several processes that want to fill it, one does and the others wait."""
    directory.mkdir(parents=True, exist_ok=True)
    with FileLock(directory / ".lock"):
        yield
