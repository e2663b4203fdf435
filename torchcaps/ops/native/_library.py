"""Whether a library on disk may be loaded: it is code, so nobody else may have put or changed it there."""

import hashlib
import os
import stat
from pathlib import Path

from torchcaps._atomic import write_text


def is_whole(library: Path) -> bool:
    """Whether a library is the one that was signed, to the last byte; what a crash or a full disk cut is not."""
    note = _note(library)
    return library.is_file() and note.is_file() and note.read_text() == _digest(library)


def sign(library: Path) -> None:
    """Write beside a library what it must be when it is loaded, and let others change neither."""
    library.chmod(0o755)
    write_text(_note(library), _digest(library))


def trust(path: Path) -> None:
    """Refuse a folder or file that another user could have written, or could put another in the place of."""
    if os.name != "posix":
        return
    real = path.resolve()
    for place in (real, *real.parents):
        found = place.stat()
        if found.st_uid not in (0, os.getuid()):
            raise PermissionError(f"{place} belongs to another user (number {found.st_uid}), who could change {path}")
        # Others may have a say above in shared folders such as /tmp, where nobody moves what is not theirs; a group
        # may above ours: some systems give every user a group of their own.
        barred = stat.S_IWOTH | stat.S_IWGRP if place == real else stat.S_IWOTH
        if found.st_mode & barred and not (place != real and found.st_mode & stat.S_ISVTX):
            raise PermissionError(f"{place} can be written by others, who could change {path}: chmod go-w {place}")


def _note(library: Path) -> Path:
    return library.with_suffix(".sha256")


def _digest(library: Path) -> str:
    with library.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
