"""A NumPy archive of images and labels."""

from pathlib import Path
from zipfile import BadZipFile, is_zipfile

import numpy as np
import torch
from einops import rearrange

from torchcaps.data._dataset import Stored

_KEYS = {
    "images": ("x_{split}", "images_{split}", "images", "x"),
    "labels": ("y_{split}", "labels_{split}", "labels", "y"),
}


def load_npz(file: Path, split: str = "train") -> Stored:
    """The arrays `x_train`, `y_train` (or `images`, `labels`) of an `.npz` file; nothing in it is unpickled.

    Images are (n, h, w), (n, h, w, c) or (n, c, h, w), as bytes or as numbers from 0 to 1.
    """
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    if not is_zipfile(file):
        raise ValueError(f"{file} is not a NumPy archive of several arrays (np.savez writes one)")
    try:
        with np.load(file, allow_pickle=False) as archive:
            images, labels = (_pick(archive, kind, split, file) for kind in ("images", "labels"))
    except (OSError, BadZipFile, EOFError) as error:
        raise ValueError(f"{file} is not a NumPy archive: {error}") from error
    names, indices = np.unique(labels, return_inverse=True)
    return Stored(_as_bytes(images, file), torch.from_numpy(indices.astype(np.int64)), [str(name) for name in names])


def _pick(archive: "np.lib.npyio.NpzFile", kind: str, split: str, file: Path) -> np.ndarray:
    keys = [key.format(split=split) for key in _KEYS[kind]]
    for key in keys:
        if key in archive:
            return np.asarray(archive[key])
    raise ValueError(f"{file} has {', '.join(archive.files)}: for the {kind} one of {', '.join(keys)} is needed")


def _as_bytes(images: np.ndarray, file: Path) -> torch.Tensor:
    if images.ndim == 3:
        images = rearrange(images, "n h w -> n 1 h w")
    elif images.ndim == 4 and images.shape[-1] in (1, 3) and images.shape[1] not in (1, 3):
        images = rearrange(images, "n h w c -> n c h w")
    if images.ndim != 4:
        raise ValueError(
            f"{file} has images of shape {images.shape}: (n, h, w), (n, h, w, c) or (n, c, h, w) is needed"
        )
    if images.dtype != np.uint8:
        if images.min() < 0 or images.max() > 1:
            raise ValueError(f"{file} has images from {images.min()} to {images.max()}: bytes, or 0 to 1, are needed")
        images = np.round(images * 255).astype(np.uint8)
    return torch.from_numpy(np.ascontiguousarray(images))
