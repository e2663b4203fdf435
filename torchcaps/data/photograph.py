"""A picture in a file as bytes of colour or grey: what it holds decides, never what the file is called."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from einops import rearrange
from jaxtyping import UInt8

from torchcaps.data._files import FORMATS, UnreadableError, check_beginning, open_regular
from torchcaps.data._scans import check_scans
from torchcaps.data._sixteen import STRIP, from_sixteen, over_257
from torchcaps.data.resize import fitted

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

MOST_PIXELS = 64_000_000
BACKGROUNDS = ("white", "black")
SPARE = 4  # a JPEG is decoded at a half, a quarter or an eighth if that is still so many times the size wanted


def read_image(
    file: Path, size: int | tuple[int, int], in_chans: int, *, fit: str = "pad", background: str = "white"
) -> UInt8[np.ndarray, "c h w"]:
    """A PNG, JPEG, WebP, BMP, TIFF or GIF (its first frame) as bytes, upright as its EXIF says, at a size.

    Numbers of 16 bits are divided by 257, floats must lie between 0 and 1; transparent parts show the background.

    >>> from tempfile import TemporaryDirectory
    >>> from PIL import Image
    >>> with TemporaryDirectory() as folder:
    ...     Image.new("RGB", (40, 20), "white").save(Path(folder, "wide.png"))
    ...     read_image(Path(folder, "wide.png"), 28, 1).shape
    (1, 28, 28)

    Args:
        size: of a square, or height and width.
        in_chans: 3 for colour, 1 for grey.
        fit: how another shape becomes this one; see `torchcaps.data.resize`.
        background: "white" or "black".
    """
    return read_sized(file, size, in_chans, fit=fit, background=background)[0]


def read_sized(
    file: Path, size: int | tuple[int, int], in_chans: int, *, fit: str = "pad", background: str = "white"
) -> tuple[UInt8[np.ndarray, "c h w"], tuple[int, int]]:
    """What `read_image` gives, and the width and height that the picture itself has."""
    height, width = (size, size) if isinstance(size, int) else size
    with open_regular(file) as stream:
        check_beginning(stream)
        check_scans(stream)
        picture, own = _decoded(stream, background, near=max(height, width))
    shown = fitted(picture.convert("L" if in_chans == 1 else "RGB"), (height, width), fit)
    return rearrange(np.asarray(shown), "h w -> 1 h w" if in_chans == 1 else "h w c -> c h w"), own


def _decoded(stream: BinaryIO, background: str, near: int) -> "tuple[Image, tuple[int, int]]":
    """The picture in an open file, and its own size; whatever a damaged one makes Pillow raise becomes one error."""
    from PIL import Image, UnidentifiedImageError

    try:
        image = _opened(stream)
        own = image.size
        if image.format in ("JPEG", "MPO"):
            _spare(image, SPARE * near)
        picture = _flat(_eight_bits(image, stream), background)
    except UnreadableError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise UnreadableError("too many pixels", f"{error}; {MOST_PIXELS:,} are allowed") from error
    except UnidentifiedImageError as error:
        raise UnreadableError("damaged", "it begins as a picture does, but goes on as none") from error
    except Exception as error:  # damaged files make Pillow's decoders raise nearly everything
        raise UnreadableError("damaged", str(error) or type(error).__name__) from error
    turned = (own[0] > own[1]) != (picture.width > picture.height)
    return picture, (own[1], own[0]) if turned else own


def _opened(stream: BinaryIO) -> "ImageFile":
    """Opened by one of six decoders, and not yet decoded: no other of Pillow's is asked, whatever the file holds."""
    # To name the decoders registers them; otherwise Pillow would import all it has when it meets WebP or TIFF.
    from PIL import (  # noqa: F401
        BmpImagePlugin,
        GifImagePlugin,
        Image,
        JpegImagePlugin,
        PngImagePlugin,
        TiffImagePlugin,
        WebPImagePlugin,
    )

    image = Image.open(stream, formats=FORMATS)
    if image.width * image.height > MOST_PIXELS:
        raise UnreadableError("too many pixels", f"{image.width}×{image.height}; {MOST_PIXELS:,} are allowed")
    return image


def _spare(image: "ImageFile", least: int) -> None:
    """Let a JPEG be decoded at an eighth, a quarter or a half, where that divides it evenly and leaves enough."""
    for scale in (8, 4, 2):
        if not any(side % scale for side in image.size) and min(image.size) // scale >= least:
            image.draft(None, (image.width // scale, image.height // scale))
            return


def _eight_bits(image: "ImageFile", stream: BinaryIO) -> "Image":
    """The picture, upright, with a byte a number."""
    from PIL import Image

    coloured = from_sixteen(image, lambda: _opened(stream), _upright)
    if coloured is not None:
        return coloured
    upright = _upright(image)
    if upright.mode == "F":
        return Image.fromarray(_in_strips(_within(np.asarray(upright), 1), lambda some: np.round(some * 255)))
    if not upright.mode.startswith("I"):
        return upright
    numbers = _within(np.asarray(upright), 65535)
    grey, clear = _in_strips(numbers, over_257), upright.info.get("transparency")
    if clear is None:
        return Image.fromarray(grey)
    return _image(np.stack([grey, np.where(numbers == clear, 0, 255).astype(np.uint8)], -1), "LA")


def _in_strips(numbers: np.ndarray, made: Callable[[np.ndarray], np.ndarray]) -> UInt8[np.ndarray, "h w"]:
    found = np.empty(numbers.shape, np.uint8)
    for top in range(0, len(numbers), STRIP):
        found[top : top + STRIP] = made(numbers[top : top + STRIP])
    return found


def _image(pixels: UInt8[np.ndarray, "h w c"], mode: str) -> "Image":
    from PIL import Image

    return Image.merge(mode, [Image.fromarray(np.ascontiguousarray(pixels[..., k])) for k in range(pixels.shape[-1])])


def _upright(image: "ImageFile") -> "ImageFile":
    """Decoded, and turned as its EXIF says; one whose EXIF is damaged stays as it lies."""
    from PIL import ImageOps

    image.load()
    try:
        ImageOps.exif_transpose(image, in_place=True)
    except Exception:  # notes that cannot be read are no reason to lose a picture that can
        return image
    return image


def _within(numbers: np.ndarray, most: int) -> np.ndarray:
    low, high = numbers.min(), numbers.max()
    if not 0 <= low <= high <= most:  # NaN is neither
        kind = "floats" if most == 1 else "whole numbers"
        raise UnreadableError(f"{kind} outside 0 to {most}", f"from {low:g} to {high:g}")
    return numbers


def _flat(image: "Image", background: str) -> "Image":
    """Without transparency: what shines through is the background."""
    from PIL import Image

    if not image.has_transparency_data:
        return image
    ground = Image.new("RGB", image.size, background)
    for top in range(0, image.height, STRIP):  # so that copies in other modes are small
        strip = 0, top, image.width, min(top + STRIP, image.height)
        seen = image.crop(strip).convert("RGBA")
        ground.paste(seen.convert("RGB"), strip, mask=seen.getchannel("A"))
    return ground
