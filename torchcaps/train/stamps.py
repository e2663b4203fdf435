"""Files that this process wrote or checked, so that a checkpoint is not read again after every save.

A large file takes long to read. One whose size, times and place on the disk are as they were is not read a second time.
"""

from pathlib import Path

_known: dict[Path, tuple[int, ...]] = {}


def stamp(path: Path) -> tuple[int, ...]:
    """What changes when somebody writes to a file or puts another in its place.

    >>> stamp(Path(__file__)) == stamp(Path(__file__))
    True
    """
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def remember(path: Path, seen: tuple[int, ...]) -> None:
    """A file is whole as long as it has this stamp."""
    _known[path.absolute()] = seen


def forget(path: Path) -> None:
    """A file is gone."""
    _known.pop(path.absolute(), None)


def unchanged(path: Path) -> bool:
    """Whether a file is as it was when it was remembered.

    >>> unchanged(Path(__file__))
    False
    """
    try:
        return _known.get(path.absolute()) == stamp(path)
    except OSError:
        return False
