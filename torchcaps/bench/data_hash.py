"""A name for the images a training learns from: if they change, so does the training."""

import hashlib
from functools import lru_cache
from pathlib import Path

from torchcaps.data import GENERATORS, RECIPES
from torchcaps.train import Settings

DRAWN = ("glyphs", "sign")
"""Data sets that are drawn by the code itself; the code's version stands for them."""


def data_hash(settings: Settings) -> str:
    """The hash of the files behind a training's images; how they are used is a matter of the settings.

    >>> data_hash(Settings("peer2021/sign", "sign"))
    'sign'
    """
    origins = [_origin(settings.data, settings.data_options)]
    if settings.validation_data is not None:
        origins.append(_origin(settings.validation_data, settings.validation_options))
    return "+".join(dict.fromkeys(map(_of, origins)))


def _origin(name: str, options: dict[str, object]) -> str:
    return str(options.get("source", "mnist")) if name in GENERATORS else name


def _of(origin: str) -> str:
    if origin in RECIPES:
        return f"{origin}:{_short(RECIPES[origin].files)}"
    path = Path(origin)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        stamps = tuple((file, file.stat().st_size, file.stat().st_mtime_ns) for file in files)
        return f"folder:{_folder(path, stamps)}"
    return f"file:{_content(path)[:12]}" if path.is_file() else origin


@lru_cache(maxsize=4)  # every training asks, and photographs are many megabytes
def _folder(path: Path, stamps: tuple[tuple[Path, int, int], ...]) -> str:
    return _short({str(file.relative_to(path)): _content(file) for file, _, _ in stamps})


def _short(files: object) -> str:
    pairs = sorted(dict(files).items())  # type: ignore[call-overload]
    return hashlib.sha256(repr(pairs).encode()).hexdigest()[:12]


def _content(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
