"""Colours of 16 bits a number, of which Pillow by itself keeps the upper eight: here both halves are read."""

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import UInt8, UInt16

from torchcaps.data._files import UnreadableError

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

WORDS = re.compile(r"(RGB|RGBA|RGBX|CMYK|LA);16([BLN])")
OTHER = {"B": "L", "L": "B", "N": "B" if sys.byteorder == "little" else "L"}
BITS, PLANES = 258, 284  # TIFF's tags: bits of each colour, and whether each has a plane of its own (2)


def words(
    image: "ImageFile", again: "Callable[[], ImageFile]", pixels: "Callable[[ImageFile], np.ndarray]"
) -> UInt16[np.ndarray, "h w c"] | None:
    """The 16-bit colours of a picture; None where it has none.

    Args:
        image: opened, and not yet decoded.
        again: opens it a second time, for the lower bytes: what Pillow unpacks in the other order of bytes.
        pixels: decodes.
    """
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
    low = pixels(lower).astype(np.uint16)
    if kind == "LA":
        return low[..., [0, 0, 0, 2]] << 8 | low[..., [1, 1, 1, 3]]
    return pixels(image).astype(np.uint16) << 8 | low


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
