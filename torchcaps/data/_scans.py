"""How often a JPEG goes over its pixels: a small file of thousands of scans would be decoded for minutes."""

import re
from typing import BinaryIO

from torchcaps.data._files import UnreadableError

MOST = 64  # scans; progressive files have about ten
PIECE = 1 << 20
JPEG, SCAN, END = b"\xff\xd8", b"\xff\xda", 0xD9
MARKER = re.compile(rb"\xff([\x02-\xcf\xd8-\xfe])")  # what follows pixels: no escaped byte, and no restart


def check_scans(stream: BinaryIO) -> None:
    """Refuse a JPEG that has more than `MOST` scans; the stream is left at its start."""
    start = stream.read(len(JPEG))
    stream.seek(0)
    # Notes and what is appended may look like scans by chance: only then are they told apart.
    if start == JPEG and _at_most(stream) > MOST:
        stream.seek(0)
        count = scans(stream.read())
        if count > MOST:
            raise UnreadableError("too many scans", f"it goes over its pixels {count:,} times; {MOST} are allowed")
    stream.seek(0)


def scans(data: bytes) -> int:
    """How many scans a JPEG has before its end.

    >>> scans(b"\\xff\\xd8" + 3 * b"\\xff\\xda\\0\\3\\1pixels" + b"\\xff\\xd9")
    3
    """
    found, at = 0, len(JPEG)
    while (marker := MARKER.search(data, at)) and (kind := marker[1][0]) != END:
        found += kind == SCAN[1]
        # Its own length comes next, but for what has none.
        at = marker.end() + (0 if kind == JPEG[1] else int.from_bytes(data[marker.end() : marker.end() + 2], "big"))
    return found


def _at_most(stream: BinaryIO) -> int:
    """How often the bytes of a scan's marker occur."""
    found, last = 0, b""
    while piece := stream.read(PIECE):
        found += (last + piece).count(SCAN)
        last = piece[-1:]
    return found
