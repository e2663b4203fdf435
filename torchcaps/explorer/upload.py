"""A picture from a visitor's disk, as a network takes it."""

import tempfile
from io import BytesIO
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.data import Reading

SIDE = 4096  # pixels that an uploaded picture may be high or wide
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF")


def uploaded(data: bytes, reading: Reading) -> Float[Tensor, "c h w"]:
    """The picture in a file's bytes, read as those of the network's training were; what is none is refused in a word.

    >>> uploaded(b"no picture", Reading((1, 28, 28)))
    Traceback (most recent call last):
    ValueError: this file cannot be read as a picture: not PNG, JPEG, WebP, BMP, TIFF or GIF
    """
    if not data:
        raise ValueError("this file is empty")
    check_sides(data)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "picture"
        file.write_bytes(data)
        try:
            return torch.from_numpy(reading.read(file).copy()).float() / 255
        except (ValueError, OSError) as error:
            raise ValueError(f"this file cannot be read as a picture: {error}") from error


def check_sides(data: bytes) -> None:
    """Refuse a picture that says it is very large, before any of it is decoded."""
    from PIL import Image

    try:
        with Image.open(BytesIO(data), formats=FORMATS) as picture:
            width, height = picture.size
    except Exception:  # damaged files make Pillow raise nearly everything; reading it says what is wrong
        return
    if max(width, height) > SIDE:
        raise ValueError(f"this picture is {width}×{height} pixels, and {SIDE}×{SIDE} are allowed")
