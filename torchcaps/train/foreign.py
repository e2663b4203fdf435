"""Which images a training's folder may have read: whoever wrote it need not be whoever opens it."""

import os
from pathlib import Path

from torchcaps.data import list_datasets
from torchcaps.train.fingerprint import read_inventory
from torchcaps.train.settings import CUSTOM, Settings

UNKNOWN = 1_000_000  # files, where the training did not note its images
TIMES, MORE = 4, 10_000  # as many files as it noted, and so many besides


def check_named(settings: Settings, folder: Path | None) -> None:
    """Refuse what a training names as its images and cannot have been: all of a disk, a home, far more files.

    A folder of images that was added to, or was moved and named by a link, is read as before. What is refused can still
    be judged by: load it with `torchcaps.data.load` and give it to `torchcaps.measures.judge`.

    >>> check_named(Settings("chen2019/lenet", "/"), Path("run"))
    Traceback (most recent call last):
    ValueError: the training in run names '/' as its images, which is no folder of images: ...

    Args:
        settings: those of the training.
        folder: its own; None of a training in this process, which names what its user did.
    """
    if folder is None:
        return
    known = ["", CUSTOM, *list_datasets()]
    roots = [options.get("root") for options in (settings.data_options, settings.validation_options)]
    sources = [options.get("source") for options in (settings.data_options, settings.validation_options)]
    named = [settings.data, settings.validation_data, *roots, *sources]
    places = list(dict.fromkeys(str(name) for name in named if name is not None and str(name) not in known))
    noted = read_inventory(folder)
    most = UNKNOWN if noted is None else TIMES * len(noted.contents) + MORE
    for place in places:
        path, home = Path(place).resolve(), Path.home().resolve()
        if path in (home, *home.parents, Path(path.anchor)):
            raise _refused(folder, place, "which is no folder of images")
        if path.exists() and not (path.is_dir() or path.is_file()):
            raise _refused(folder, place, "which is no file")
    for place in places:
        if Path(place).is_dir() and _has_more(Path(place), most):
            raise _refused(folder, place, f"which has more than {most:,} files, far more than the images it noted")


def _refused(folder: Path, place: str, why: str) -> ValueError:
    return ValueError(
        f"the training in {folder} names {place!r} as its images, {why}: it is not looked through. If they are your "
        f"own images, load them with torchcaps.data.load and judge by them with torchcaps.measures.judge"
    )


def _has_more(folder: Path, most: int) -> bool:
    count = 0
    for _, inner, names in os.walk(folder):
        count += len(inner) + len(names)
        if count > most:
            return True
    return False
