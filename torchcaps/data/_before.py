"""A user's own images as the first version parted and read them: for networks that were trained on them so.

Parts went by the names of files, so that new files moved old ones; arrays without parts were training and test images
at once. Pictures lie as they were stored, squashed into a square. Nothing new is trained by these rules.
"""

import hashlib
from pathlib import Path

import numpy as np
import torch
from einops import rearrange
from jaxtyping import UInt8

from torchcaps.data._dataset import Stored
from torchcaps.data._files import UnreadableError, open_regular
from torchcaps.data._npy import Arrays
from torchcaps.data._scans import check_scans
from torchcaps.data.npz import as_bytes

ENDINGS, SHARE = (".png", ".jpg", ".jpeg"), 0.2
_KEYS = {"x": ("x_{}", "images_{}", "images", "x"), "y": ("y_{}", "labels_{}", "labels", "y")}


def load_as_before(path: Path, part: str, *, image_size: int = 64, in_chans: int = 3) -> Stored:
    """The images to learn from or to test by, as they were then."""
    return _from_arrays(path, part) if path.suffix == ".npz" else _from_folder(path, part, image_size, in_chans)


def honest(path: Path) -> bool:
    """Whether the old rule kept training and test images apart: not those of arrays without parts."""
    return path.suffix != ".npz" or not {"images", "x"} & set(Arrays(path).names)


def read_as_before(file: Path, size: tuple[int, int], in_chans: int) -> UInt8[np.ndarray, "c h w"]:
    """A picture, bicubic and squashed."""
    from PIL import Image

    try:
        with open_regular(file) as stream:
            check_scans(stream)
        with Image.open(file, formats=("PNG", "JPEG")) as image:
            pixels = np.asarray(image.convert("L" if in_chans == 1 else "RGB").resize((size[1], size[0])))
    except (FileNotFoundError, UnreadableError):
        raise
    except Exception as error:  # as in photograph.py
        raise UnreadableError("damaged", str(error)) from error
    return rearrange(pixels, "h w -> 1 h w" if in_chans == 1 else "h w c -> c h w")


def _from_folder(root: Path, part: str, size: int, in_chans: int) -> Stored:
    own = (root / part).is_dir()
    base = root / part if own else root
    classes = sorted(folder.name for folder in base.iterdir() if folder.is_dir())
    images, labels = list[np.ndarray](), list[int]()
    for label, name in enumerate(classes):
        files = sorted(f for f in (base / name).rglob("*") if f.suffix.lower() in ENDINGS and f.is_file())
        for file in files if own else _part(files, base, part):
            try:
                images.append(read_as_before(file, (size, size), in_chans))
                labels.append(label)
            except UnreadableError:
                continue
    if not images:
        raise ValueError(f"{base} holds no images: expected a sub-folder a class with {', '.join(ENDINGS)} files")
    return Stored(torch.from_numpy(np.stack(images)), torch.tensor(labels), classes)


def _part(files: list[Path], base: Path, part: str) -> list[Path]:
    by_name = sorted(files, key=lambda f: hashlib.sha256(f.relative_to(base).as_posix().encode()).digest())
    count = round(len(files) * SHARE)
    return by_name[:count] if part == "test" else by_name[count:]


def _from_arrays(file: Path, part: str) -> Stored:
    arrays = Arrays(file)
    x, y = (next((key.format(part) for key in keys if key.format(part) in arrays), "") for keys in _KEYS.values())
    if not (x and y):
        raise ValueError(f"{file} has {', '.join(arrays.names)}: there are no images and labels for {part}")
    names, labels = np.unique(arrays[y], return_inverse=True)
    pixels = as_bytes(arrays[x], f"{file}: {x}")
    return Stored(torch.from_numpy(pixels), torch.from_numpy(labels.astype(np.int64)), [str(name) for name in names])
