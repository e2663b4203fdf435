"""The trees that are compared: a folder as it is, or a revision unpacked into a temporary one."""

import io
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

HERE = Path(__file__).parents[2]


class Tree(NamedTuple):
    """The name of a tree, its commit, for results and files, and where it is."""

    name: str
    folder: Path


@contextmanager
def tree(given: str) -> Iterator[Tree]:
    """A folder with `torchcaps` in it, or a revision of this repository, which goes when the context ends."""
    if Path(given).is_dir():
        folder = Path(given).resolve()
        if not (folder / "torchcaps/__init__.py").exists():
            raise ValueError(f"{given}: the folder has no package torchcaps: a checkout or a revision is needed")
        yield Tree(_name(folder), folder)
        return
    try:
        commit = _git(HERE, "rev-parse", "--verify", "--quiet", "--short", f"{given}^{{commit}}").decode().strip()
    except subprocess.CalledProcessError:
        raise ValueError(f"{given} is neither a folder nor a revision of this repository") from None
    with TemporaryDirectory(prefix="paired-") as unpacked:
        with tarfile.open(fileobj=io.BytesIO(_git(HERE, "archive", commit))) as archive:
            archive.extractall(unpacked, filter="data")
        yield Tree(commit, Path(unpacked).resolve())


def _name(folder: Path) -> str:
    """The commit, and whether there is more than that; a folder that git does not know has its own name."""
    try:
        commit = _git(folder, "rev-parse", "--short", "HEAD").decode().strip()
    except subprocess.CalledProcessError:
        return folder.name
    return commit + ("+changes" if _git(folder, "status", "--porcelain", "--", "torchcaps") else "")


def _git(folder: Path, *command: str) -> bytes:
    return subprocess.run(["git", "-C", str(folder), *command], check=True, capture_output=True).stdout
