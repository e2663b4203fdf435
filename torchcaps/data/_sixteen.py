"""Colours of 16 bits a number, of which Pillow by itself keeps the upper eight: here both halves are read."""

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import UInt8, UInt16

from torchcaps.data._files import UnreadableError

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

WORDS = re.compile(r"(RGB|RGBA|RGBX|CMYK|LA);16([BLN])")
OTHER = {"B": "L", "L": "B", "N": "B" if sys.byteorder == "little" else "L"}
STRIP = 64  # rows at a time
BITS, PLANES = 258, 284  # TIFF's tags: bits of each colour, and whether each has a plane of its own (2)


def from_sixteen(
    image: "ImageFile", again: "Callable[[], ImageFile]", decoded: "Callable[[ImageFile], ImageFile]"
) -> "Image | None":
    """A picture of 16-bit colours with a byte a number; None where it has none.

    Args:
        image: opened, and not yet decoded.
        again: opens it a second time, for the lower bytes: what Pillow unpacks in the other order of bytes.
        decoded: decodes, and turns upright.
    """
    from PIL import Image

    tags: Any = getattr(image, "tag_v2", {})
    if tags.get(PLANES) == 2 and 16 in tags.get(BITS, ()):
        raise UnreadableError("a TIFF with 16-bit colours in planes", "Pillow reads noise from it")
    found = WORDS.fullmatch(_unpacker(image))
    if found is None:
        return None
    kind, order = found.groups()
    lower = again()
    # Grey with alpha has no other order; its two words are, as four bytes, all there is to know.
    unpacker = "RGBA" if kind == "LA" else f"{kind};16{OTHER[order]}"
    lower.tile = [tile._replace(args=_with(tile.args, unpacker)) for tile in lower.tile]
    low = decoded(lower)
    high = low if kind == "LA" else decoded(image)
    made = Image.new(image.mode, low.size)
    for top in range(0, low.height, STRIP):  # in strips: numbers of 16 bits take many times what the picture does
        strip = 0, top, low.width, min(top + STRIP, low.height)
        pixels = over_257(_words(kind, np.asarray(high.crop(strip)), np.asarray(low.crop(strip))))
        bands = [Image.fromarray(np.ascontiguousarray(pixels[..., k])) for k in range(pixels.shape[-1])]
        made.paste(Image.merge(image.mode, bands), strip)
    return made


def _words(kind: str, high: UInt8[np.ndarray, "h w c"], low: UInt8[np.ndarray, "h w c"]) -> UInt16[np.ndarray, "h w c"]:
    wide = low.astype(np.uint16)
    if kind == "LA":
        return wide[..., [0, 0, 0, 2]] << 8 | wide[..., [1, 1, 1, 3]]
    return high.astype(np.uint16) << 8 | wide


def _unpacker(image: "ImageFile") -> str:
    arguments: Any = image.tile[0].args if image.tile else ""
    return str(arguments[0] if isinstance(arguments, tuple) and arguments else arguments)


def _with(arguments: Any, unpacker: str) -> Any:
    return (unpacker, *arguments[1:]) if isinstance(arguments, tuple) else unpacker


def over_257(numbers: np.ndarray) -> UInt8[np.ndarray, "..."]:
    """From 0…65535 to 0…255, rounded to the nearest.

    >>> over_257(np.array([0, 128, 129, 65535], np.uint16)).tolist()
    [0, 0, 1, 255]
    """
    return ((numbers.astype(np.uint32) + 128) // 257).astype(np.uint8)
