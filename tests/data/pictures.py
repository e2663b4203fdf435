"""Picture files of every kind, made by hand where Pillow writes none, each with the pixels it must be read as."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

SIZE = (5, 7)  # height, width: no square, so that one lying on its side is noticed


def bytes_of(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def numbers(rng, channels, most=65535):
    return rng.integers(0, most + 1, (*SIZE, channels)).astype(np.uint16)


def over_257(words):
    """The naive twin: to the nearest, half up."""
    return np.floor(words / 257 + 0.5).astype(np.uint8)


def over_white(colours, alpha):
    """The naive twin of alpha blending, to the nearest."""
    share = alpha.astype(float) / 255
    return np.floor(colours * share + 255 * (1 - share) + 0.5 - 1e-9).astype(np.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(words, colour, *, bits=16, size=None, extra=b""):
    """A PNG of 16 bits a number; `colour` 0 is grey, 2 RGB, 4 grey with alpha, 6 RGBA. `size` may lie."""
    height, width = words.shape[:2] if size is None else size
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in words)
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def tiff(words, *, order="<", meaning=2, squeezed=False, planes=False, alpha=False):
    """A TIFF of 16 bits a number; `meaning` 1 is grey, 2 RGB, 5 CMYK."""
    height, width, channels = words.shape
    data = (np.moveaxis(words, -1, 0) if planes else words).astype(f"{order}u2").tobytes()
    data = zlib.compress(data) if squeezed else data
    tags = {
        256: [width], 257: [height], 258: [16] * channels, 259: [8 if squeezed else 1], 262: [meaning], 273: None,
        277: [channels], 278: [height], 279: [len(data)], 284: [2 if planes else 1], **({338: [2]} if alpha else {}),
    }  # fmt: skip
    behind = 8 + 2 + 12 * len(tags) + 4
    bits = struct.pack(f"{order}4H", *[16] * 4)
    tags[273] = [behind + len(bits)]
    entries = b""
    for tag, values in tags.items():
        code = "I" if tag in (273, 279) else "H"
        packed = struct.pack(f"{order}{len(values)}{code}", *values)
        packed = packed.ljust(4, b"\0") if len(packed) <= 4 else struct.pack(f"{order}I", behind)
        entries += struct.pack(f"{order}HHI", tag, 4 if code == "I" else 3, len(values)) + packed
    start = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}IH", 8, len(tags))
    return start + entries + struct.pack(f"{order}I", 0) + bits + data


def _three(grey):
    return np.repeat(grey, 3, axis=-1)


def sixteen_bits(rng):
    """Name → (file, pixels) of 16-bit pictures."""
    grey, pair, rgb, rgba = (numbers(rng, c) for c in (1, 2, 3, 4))
    found = {
        "grey.png": (png(grey, 0), _three(over_257(grey))),
        "grey-alpha.png": (png(pair, 4), over_white(_three(over_257(pair[..., :1])), over_257(pair[..., 1:]))),
        "rgb.png": (png(rgb, 2), over_257(rgb)),
        "rgba.png": (png(rgba, 6), over_white(over_257(rgba[..., :3]), over_257(rgba[..., 3:]))),
        "rgba.tif": (tiff(rgba, alpha=True), over_white(over_257(rgba[..., :3]), over_257(rgba[..., 3:]))),
    }
    clear = grey.copy()
    clear[2:] = 1000
    over = np.where(clear == 1000, 255, over_257(clear)).astype(np.uint8)
    found["clear.png"] = (png(clear, 0, extra=chunk(b"tRNS", struct.pack(">H", 1000))), _three(over))
    for order in "<>":
        for squeezed in (False, True):
            name = f"{'little' if order == '<' else 'big'}{'-squeezed' * squeezed}.tif"
            how = {"order": order, "squeezed": squeezed}
            found[f"grey-{name}"] = (tiff(grey, meaning=1, **how), _three(over_257(grey)))
            found[f"rgb-{name}"] = (tiff(rgb, **how), over_257(rgb))
            found[f"cmyk-{name}"] = (tiff(rgba, meaning=5, **how), from_cmyk(over_257(rgba)))
    return found


def from_cmyk(inks):
    """The naive twin: each colour is what its ink and black leave of the light."""
    left = 255 - inks.astype(float)
    return np.floor(left[..., :3] * left[..., 3:] / 255 + 0.5 - 1e-9).astype(np.uint8)


def eight_bits(rng):
    """Name → (file, pixels) of the other kinds Pillow writes without loss."""
    rgb, alpha = (rng.integers(0, 256, (*SIZE, c)).astype(np.uint8) for c in (3, 1))
    picture, index = Image.fromarray(rgb), rng.integers(0, 4, SIZE).astype(np.uint8)
    seen = Image.fromarray(np.concatenate([rgb, alpha], -1))
    grey, black = Image.fromarray(rgb[..., 0]), rng.integers(0, 2, SIZE).astype(bool)
    colours = rng.integers(0, 256, (4, 3)).astype(np.uint8)
    palette = Image.fromarray(index, mode="P")
    palette.putpalette(colours.tobytes())
    hole = np.where((index == 2)[..., None], 255, colours[index]).astype(np.uint8)
    inks = rng.integers(0, 256, (*SIZE, 4)).astype(np.uint8)
    floats = rng.random(SIZE).astype(np.float32)
    blended = over_white(rgb, alpha)
    found = {
        "rgb.png": (bytes_of(picture, "PNG"), rgb),
        "rgb.bmp": (bytes_of(picture, "BMP"), rgb),
        "rgb.tif": (bytes_of(picture, "TIFF"), rgb),
        "rgb.webp": (bytes_of(picture, "WEBP", lossless=True), rgb),
        "rgb.gif": (
            bytes_of(palette, "GIF", save_all=True, append_images=[Image.new("P", SIZE[::-1])]),
            colours[index],
        ),
        "rgba.png": (bytes_of(seen, "PNG"), blended),
        "rgba.webp": (bytes_of(seen, "WEBP", lossless=True, exact=True), blended),
        "rgba.tif": (bytes_of(seen, "TIFF"), blended),
        "grey-alpha.png": (bytes_of(seen.convert("LA"), "PNG"), None),
        "grey.png": (bytes_of(grey, "PNG"), _three(rgb[..., :1])),
        "palette.png": (bytes_of(palette, "PNG"), colours[index]),
        "palette-hole.png": (bytes_of(palette, "PNG", transparency=2), hole),
        "palette-hole.gif": (bytes_of(palette, "GIF", transparency=2), hole),
        "one-bit.png": (bytes_of(Image.fromarray(black), "PNG"), _three(black[..., None] * np.uint8(255))),
        "one-bit.tif": (bytes_of(Image.fromarray(black), "TIFF"), _three(black[..., None] * np.uint8(255))),
        "cmyk.tif": (bytes_of(Image.fromarray(inks, mode="CMYK"), "TIFF"), from_cmyk(inks)),
        "float.tif": (
            bytes_of(Image.fromarray(floats), "TIFF"),
            _three(np.round(floats * 255).astype(np.uint8)[..., None]),
        ),
        "named.wrong.jpg": (bytes_of(picture, "PNG"), rgb),
        "no ending": (bytes_of(picture, "WEBP", lossless=True), rgb),
    }
    two = np.asarray(seen.convert("LA"))
    found["grey-alpha.png"] = (found["grey-alpha.png"][0], over_white(_three(two[..., :1]), two[..., 1:]))
    return found
