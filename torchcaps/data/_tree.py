"""What the folders below a user's own mean: parts, classes, or nothing; and the images in them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from torchcaps.data._files import Skipped, UnreadableError, check_beginning, digest_of, open_regular
from torchcaps.data.parts import part_named

NO_CLASS = "__MACOSX"  # what an archive made on a Mac holds beside its contents
OFTEN = 500  # files between two reports


class Place(NamedTuple):
    """A folder of images of one class, and the part it belongs to if the user has made parts."""

    folder: Path
    label: str
    part: str | None


def places(root: Path, skipped: list[Skipped]) -> list[Place]:
    """Where the images of each class are: in root/class, or in root/train/class and the like.

    Folders called train, val or test are parts if there are classes in them, and nothing but parts beside them. Folders
    without images are named as well: what they hold instead is worth a word.
    """
    _note_strays(root, root, skipped)
    folders = _folders(root)
    parts = {folder: part for folder in folders if (part := part_named(folder.name))}
    deep = [folder for folder in parts if any(any(pictures(inner)) for inner in _folders(folder))]
    others = [folder for folder in folders if folder not in parts and any(pictures(folder))]
    if deep and others:
        raise ValueError(
            f"{root} has {_listed(deep)} with folders in it, as for training and testing, but also {_listed(others)}: "
            f"put every class below train/ and test/, or, if {_listed(deep)} is a class, its images right into it"
        )
    if not others and not deep and any(any(pictures(folder)) for folder in parts):
        raise ValueError(
            f"{root} has images in {_listed(list(parts))}, but no classes: expected a sub-folder a class in each"
        )
    if not deep:
        return [Place(folder, folder.name, None) for folder in folders]
    for folder in parts:
        _note_strays(folder, root, skipped)
    return [Place(inner, inner.name, parts.get(folder)) for folder in folders for inner in _folders(folder)]


def images_below(
    folder: Path, root: Path, skipped: list[Skipped], report: Callable[[str], None]
) -> Iterator[tuple[str, bytes]]:
    """Every image below a folder, sorted: its path below `root`, and its SHA-256."""
    for k, file in enumerate(_files(folder, skipped, root)):
        if k % OFTEN == 0:
            report(f"{folder}: {k:,} files looked at")
        name = file.relative_to(root).as_posix()
        try:
            yield name, digest_of(file)
        except UnreadableError as error:
            skipped.append(Skipped(name, error.reason, str(error)))
        except OSError as error:
            skipped.append(Skipped(name, "cannot be opened", str(error)))


def _folders(folder: Path) -> list[Path]:
    return sorted(f for f in folder.iterdir() if f.is_dir() and _shown(f.name))


def _shown(name: str) -> bool:
    return not name.startswith(".") and name != NO_CLASS


def _files(folder: Path, skipped: list[Skipped] | None = None, root: Path | None = None) -> Iterator[Path]:
    """All files below a folder but hidden ones; links to other folders are noted, not followed."""

    def closed(error: OSError) -> None:
        if skipped is not None and root is not None:
            name = Path(error.filename).relative_to(root).as_posix()
            skipped.append(Skipped(name, "cannot be opened", str(error)))

    for home, inner, names in os.walk(folder, onerror=closed):
        for name in [name for name in inner if Path(home, name).is_symlink()]:
            if skipped is not None and root is not None:
                where = Path(home, name).relative_to(root).as_posix()
                skipped.append(Skipped(where, "links to folders", "a link to a folder, which is not followed"))
        inner[:] = sorted(filter(_shown, inner))
        yield from (Path(home, name) for name in sorted(filter(_shown, names)))


def pictures(folder: Path) -> Iterator[Path]:
    """Files below a folder that begin as images do, sorted.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.gif").write_bytes(b"GIF89a"), Path(folder, "b.png").write_text("no image")
    ...     [file.name for file in pictures(Path(folder))]
    ['a.gif']
    """
    for file in _files(folder):
        if _begins_well(file):
            yield file


def _begins_well(file: Path) -> bool:
    try:
        with open_regular(file) as stream:
            check_beginning(stream)
    except (UnreadableError, OSError):
        return False
    return True


def _note_strays(folder: Path, root: Path, skipped: list[Skipped]) -> None:
    """Images that lie beside the classes' folders instead of in one."""
    for file in sorted(folder.iterdir()):
        if _shown(file.name) and not file.is_dir() and _begins_well(file):
            name = file.relative_to(root).as_posix()
            skipped.append(Skipped(name, "in no class's folder", "an image beside the folders of the classes"))


def _listed(folders: list[Path]) -> str:
    return ", ".join(f"{folder.name}/" for folder in folders)
