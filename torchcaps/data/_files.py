"""Files as they lie in a folder: which are pictures by what they begin with, and why the others are passed over."""

import hashlib
import re
import stat
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, NamedTuple

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF")
NAMED = "PNG, JPEG, WebP, BMP, TIFF or GIF"
BEGINNINGS = re.compile(
    rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|RIFF....WEBP|BM|II\*\0|MM\0\*|II\+\0|MM\0\+|GIF8[79]a", re.DOTALL
)
LONGEST = 12  # bytes that `BEGINNINGS` looks at


class UnreadableError(ValueError):
    """A file that is no picture we read.

    Attributes:
        reason: the kind of trouble, in words by which many such files are counted.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason} ({detail})" if detail else reason)
        self.reason = reason


class Skipped(NamedTuple):
    """A file that was passed over: where it lies, the kind of trouble, and what exactly."""

    name: str
    reason: str
    detail: str


def open_regular(file: Path) -> BufferedReader:
    """A file for reading; what is none, such as a FIFO that would wait for ever, is refused unopened."""
    try:
        kind = file.stat().st_mode
    except FileNotFoundError:
        if file.is_symlink():
            raise UnreadableError("a link to nothing") from None
        raise
    if not stat.S_ISREG(kind):
        raise UnreadableError("a folder" if stat.S_ISDIR(kind) else "a FIFO, socket or device")
    return file.open("rb")


def check_beginning(stream: BinaryIO) -> None:
    """Refuse what does not begin as one of the six formats; the stream is left at its start."""
    if not BEGINNINGS.match(stream.read(LONGEST)):
        raise UnreadableError(f"not {NAMED}")
    stream.seek(0)


def digest_of(file: Path) -> bytes:
    """The SHA-256 of a picture's file, read once from end to end; an `UnreadableError` if it is none."""
    with open_regular(file) as stream:
        check_beginning(stream)
        return hashlib.file_digest(stream, "sha256").digest()
