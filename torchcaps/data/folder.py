"""A folder of images: every sub-folder is a class."""

import hashlib
import warnings
from pathlib import Path

import numpy as np
import torch
from einops import rearrange
from jaxtyping import UInt8

from torchcaps.data._dataset import Stored

ENDINGS = (".png", ".jpg", ".jpeg")
MOST_PIXELS = 64_000_000
UNREADABLE = (OSError, ValueError, SyntaxError)  # what Pillow and `read_image` raise for a bad file
TEST_SHARE = 0.2


def load_folder(
    root: Path, split: str = "train", *, image_size: int = 64, in_chans: int = 3, strict: bool = False
) -> Stored:
    """The PNG and JPEG images below a folder, resized to squares.

    Where the folder has a sub-folder named as the split, that is it. Otherwise a fifth of every class, chosen by the
    files' names, is the test split and the rest the training split, the same on every machine.

    Args:
        image_size: height and width the images are resized to.
        in_chans: 3 for colour, 1 for grey.
        strict: whether a file that cannot be read is an error; otherwise such files are listed, counted and skipped.
    """
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root}")
    if in_chans not in (1, 3):
        raise ValueError(f"in_chans={in_chans} is not allowed: 1 for grey, 3 for colour")
    own = (root / split).is_dir()
    base = root / split if own else root
    classes = sorted(folder.name for folder in base.iterdir() if folder.is_dir())
    images, labels, bad = [], [], list[str]()
    for label, name in enumerate(classes):
        files = sorted(f for f in (base / name).rglob("*") if f.suffix.lower() in ENDINGS)
        for file in files if own else _part(files, base, split):
            try:
                images.append(read_image(file, image_size, in_chans))
                labels.append(label)
            except UNREADABLE as error:
                bad.append(f"{file}: {error}")
    _complain(bad, strict=strict)
    if not images:
        raise ValueError(f"{base} holds no images: expected a sub-folder a class with {', '.join(ENDINGS)} files")
    return Stored(torch.from_numpy(np.stack(images)), torch.tensor(labels), classes)


def _part(files: list[Path], base: Path, split: str) -> list[Path]:
    by_name = sorted(files, key=lambda f: hashlib.sha256(f.relative_to(base).as_posix().encode()).digest())
    count = round(len(files) * TEST_SHARE)
    return by_name[:count] if split == "test" else by_name[count:]


def read_image(file: Path, size: int | tuple[int, int], in_chans: int) -> UInt8[np.ndarray, "c h w"]:
    """An image file as bytes, in colour (3) or grey (1), resized to a square or to (height, width)."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # our own limit is stricter, and says what it is
    height, width = (size, size) if isinstance(size, int) else size
    with Image.open(file) as image:
        if image.width * image.height > MOST_PIXELS:
            raise ValueError(f"{image.width}×{image.height} pixels are more than the {MOST_PIXELS:,} allowed")
        resized = image.convert("L" if in_chans == 1 else "RGB").resize((width, height))
    return rearrange(np.asarray(resized), "h w -> 1 h w" if in_chans == 1 else "h w c -> c h w")


def _complain(bad: list[str], *, strict: bool) -> None:
    if not bad:
        return
    listed = "\n".join(f"  {line}" for line in bad[:20]) + ("\n  …" if len(bad) > 20 else "")
    if strict:
        raise ValueError(f"{len(bad)} files cannot be read:\n{listed}")
    warnings.warn(f"{len(bad)} files cannot be read and are skipped:\n{listed}", stacklevel=3)
