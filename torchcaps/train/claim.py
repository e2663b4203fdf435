"""A training's folder belongs to one process; what a kill left there goes, and a start that fails leaves nothing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from torchcaps.train import checkpoint
from torchcaps.train.fingerprint import DATA
from torchcaps.train.log import LOG, TENSORBOARD
from torchcaps.train.processes import is_first
from torchcaps.train.run import CHECKPOINTS, MODEL, RUN
from torchcaps.train.trajectory import FOLDER as TRAJECTORY

LOCK = ".lock"
OURS = (LOCK, RUN, DATA, LOG, CHECKPOINTS, MODEL, TENSORBOARD, TRAJECTORY)
LEFTOVERS = ("*.part", ".tmp*")  # our own unfinished files, and those of safetensors


class InUseError(OSError):
    """Another process trains in this folder."""


@contextmanager
def claimed(folder: Path | None, *, resume: bool) -> Iterator[None]:
    """Have a folder for oneself; of several processes of one training the first claims it for all.

    Args:
        folder: made if it is not there; None for a training that keeps nothing.
        resume: whether a training that lies there goes on; without it the folder must be empty.
    """
    if folder is None or not is_first():
        yield
        return
    _check(folder, resume=resume)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        fresh = _is_empty(folder)
        for place in (folder, folder / CHECKPOINTS, folder / MODEL, folder / TRAJECTORY):
            for pattern in LEFTOVERS:
                for leftover in place.glob(pattern):
                    leftover.unlink(missing_ok=True)
        try:
            yield
        except BaseException:
            if fresh and not _has_begun(folder):
                _remove(folder, made)
            raise


def _check(folder: Path, *, resume: bool) -> None:
    """Nothing that is there already is written over."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: name a folder for the training")
    if folder.is_dir() and not resume and not _is_empty(folder):
        if (folder / LOCK).exists():
            with _locked(folder):  # or it is in use, which is the better answer
                pass
        raise ValueError(f"{folder} is not empty: go on with --resume (resume=True), or name another folder")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise InUseError(
            f"{folder} is in use: another process trains there. Wait until it has ended, or name another folder"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _is_empty(folder: Path) -> bool:
    return all(path.name == LOCK for path in folder.iterdir())


def _has_begun(folder: Path) -> bool:
    """Whether there is anything to go on from, or to learn from."""
    log = folder / LOG
    return bool(checkpoint.listed(folder / CHECKPOINTS)) or (log.exists() and log.stat().st_size > 0)


def _remove(folder: Path, made: list[Path]) -> None:
    """What a start wrote, and the folders that were made for it; nothing of anybody else's."""
    for name in OURS:
        shutil.rmtree(folder / name, ignore_errors=True)
        with suppress(OSError):
            (folder / name).unlink()
    for path in made:
        with suppress(OSError):
            path.rmdir()
