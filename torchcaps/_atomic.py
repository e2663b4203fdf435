"""Atomic writes: a file is as it was, or whole and new. A failed write says which file, and why."""

import errno
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError

ENDING = ".part"
LONGEST = 40  # characters of a name that its part has: file systems limit the length


class NotWrittenError(OSError):
    """A file could not be written: `filename` is which, `strerror` is why."""

    def __str__(self) -> str:
        return f"{self.filename} could not be written: {self.strerror}"


def write_text(path: str | Path, text: str) -> None:
    """Write a whole text file as UTF-8, or leave what is there.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "new" / "a.txt", "whole")
    ...     (Path(folder) / "new" / "a.txt").read_text()
    'whole'
    """
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a whole file, or leave what is there. Folders that are missing are made."""
    with replaced(path) as part:
        part.write_bytes(data)


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """Give a writer the path of a new file beside `path`, which takes the place of `path` when the block ends.

    The file is flushed to the disk first. If the block fails, the new file is removed and `path` stays as it was. A
    link stays a link, permissions are those that `open` would leave, and a pipe or device is written directly.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replaced(Path(folder) / "a.txt") as part:
    ...         _ = part.write_text("whole")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    with writing(path):
        target = Path(os.path.realpath(path))
        if not _is_replaceable(target):
            yield target
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name[:LONGEST]}.{uuid.uuid4().hex[:12]}{ENDING}")
        try:
            mode = _create(part, target)
            yield part
            _flush(part)
            part.chmod(mode)
            os.replace(part, target)
        finally:
            with suppress(OSError):
                part.unlink()
        with suppress(OSError):  # not every system can flush a folder
            _flush(target.parent)


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn the errors of a block that writes a file into `NotWrittenError`, which names the file.

    >>> with writing("results.jsonl"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    torchcaps._atomic.NotWrittenError: results.jsonl could not be written: No space left on device
    """
    try:
        yield
    except NotWrittenError:
        raise
    except (OSError, SafetensorError) as error:
        number, why = getattr(error, "errno", None), getattr(error, "strerror", None)
        raise NotWrittenError(number, why or str(error), str(path)) from error


def _is_replaceable(target: Path) -> bool:
    """Whether a file is regular or not there yet; what `open` would refuse to write is refused."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return True
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return stat.S_ISREG(mode)


def _create(part: Path, target: Path) -> int:
    """Create an empty part, and return the permissions that it is to end with."""
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        fresh = os.fstat(handle).st_mode
    finally:
        os.close(handle)
    return stat.S_IMODE(target.stat().st_mode if target.exists() else fresh)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
