"""Pictures as cameras, scanners and strangers leave them: read right to the last pixel, or refused with a reason."""

import contextlib
import io
import os
import re
import socket
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.data.pictures import SIZE, bytes_of, eight_bits, numbers, png, sixteen_bits, tiff
from torchcaps.data import photograph, read_image, resize
from torchcaps.data._files import UnreadableError

RNG = np.random.default_rng(0)
PICTURES = {f"16 bits {k}": v for k, v in sixteen_bits(RNG).items()} | {f"8 {k}": v for k, v in eight_bits(RNG).items()}
TURNS = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: np.rot90(a),
}


@pytest.fixture
def read(tmp_path):
    """What is read from bytes, as rows of colours; at the picture's own size unless another is given."""

    def read(data, size=SIZE, name="picture", in_chans=3, **options):
        (tmp_path / name).write_bytes(data)
        return np.moveaxis(read_image(tmp_path / name, size, in_chans, **options), 0, -1)

    return read


@pytest.mark.parametrize("name", PICTURES)
def test_every_kind_pixel_by_pixel(read, name):
    data, expected = PICTURES[name]
    assert np.array_equal(read(data, name=name.split(" ", 1)[1]), expected)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_exif_1_to_8(read, kind):
    """Whatever way the camera was held, the picture stands upright."""
    stored = Image.fromarray(RNG.integers(0, 256, (*SIZE, 3)).astype(np.uint8))
    options = {"WEBP": {"lossless": True}, "JPEG": {"quality": 95}}.get(kind, {})
    plain = read(bytes_of(stored, kind, **options))
    for orientation, turn in TURNS.items():
        exif = Image.Exif()
        exif[0x0112] = orientation
        upright = turn(plain)
        assert np.array_equal(read(bytes_of(stored, kind, exif=exif, **options), upright.shape[:2]), upright)


def test_16_bits_on_their_side(read):
    """Both halves of every number are turned."""
    words = numbers(RNG, 3)
    exif = Image.Exif()
    exif[0x0112] = 6
    block = exif.tobytes().removeprefix(b"Exif\0\0")
    from tests.data.pictures import chunk, over_257

    turned = read(png(words, 2, extra=chunk(b"eXIf", block)), SIZE[::-1])
    assert np.array_equal(turned, np.rot90(over_257(words), -1))


def test_a_damaged_exif_loses_no_picture(read):
    stored = Image.fromarray(RNG.integers(0, 256, (*SIZE, 3)).astype(np.uint8))
    assert np.array_equal(read(bytes_of(stored, "PNG", exif=b"Exif\0\0MM\0*nonsense")), np.asarray(stored))


def test_jpegs_of_colour_grey_and_ink(read):
    """As Pillow decodes them; the inks of Adobe's JPEGs are stored upside down, which it knows."""
    smooth = Image.fromarray(RNG.integers(0, 256, (2, 3, 3)).astype(np.uint8)).resize(
        (64, 48), Image.Resampling.BICUBIC
    )
    grey, inks = smooth.convert("L"), smooth.convert("CMYK")
    assert np.abs(read(bytes_of(smooth, "JPEG", quality=95), (48, 64)).astype(int) - np.asarray(smooth)).max() < 12
    assert np.abs(read(bytes_of(inks, "JPEG", quality=95), (48, 64)).astype(int) - np.asarray(smooth)).max() < 12
    assert np.abs(read(bytes_of(grey, "JPEG", quality=95), (48, 64), in_chans=1)[..., 0].astype(int) - grey).max() < 12


def test_large_jpegs_are_not_decoded_in_full(read, monkeypatch):
    """At an eighth, a JPEG gives the same small picture to within two levels of 255."""
    rng = np.random.default_rng(1)
    smooth = Image.fromarray(rng.integers(0, 256, (40, 60, 3)).astype(np.uint8)).resize((1200, 800))
    data = bytes_of(smooth, "JPEG", quality=90)
    whole = Image.open(io.BytesIO(data)).convert("RGB").resize((24, 24), Image.Resampling.BILINEAR)
    assert np.abs(read(data, 24, fit="squash").astype(int) - np.asarray(whole)).max() <= 2
    decoded = []
    monkeypatch.setattr(
        photograph, "fitted", lambda image, *rest: decoded.append(image.size) or resize.fitted(image, *rest)
    )
    for size in ((1200, 800), (1201, 800), (1202, 804), (4800, 96)):
        read(bytes_of(smooth.resize(size), "JPEG"), 24)
    assert decoded == [(150, 100), (1201, 800), (601, 402), (4800, 96)]


def test_no_other_decoder_is_asked(read, monkeypatch):
    """Not even one that takes all there is, for a file that begins as a BMP."""
    asked = []
    monkeypatch.setattr(Image, "ID", [*Image.ID, "ANY"])
    monkeypatch.setitem(Image.OPEN, "ANY", (lambda *_: asked.append(1) or Image.new("RGB", SIZE[::-1]), None))
    with pytest.raises(UnreadableError, match="begins as a picture does, but goes on as none"):
        read(b"BM, and so on")
    assert not asked


@pytest.mark.parametrize("version", [b"GIF87a", b"GIF89a"])
def test_gifs_of_both_years(read, version):
    data = bytes_of(Image.new("L", SIZE[::-1], 77), "GIF")
    assert (read(version + data[6:]) == 77).all()


def test_alpha_over_black_on_request(read):
    clear = Image.fromarray(np.zeros((*SIZE, 4), np.uint8))
    assert read(bytes_of(clear, "PNG")).min() == 255
    assert read(bytes_of(clear, "PNG"), background="black").max() == 0


GREY = Image.new("L", SIZE[::-1])
REFUSED = {
    "floats above": (bytes_of(Image.fromarray(np.full(SIZE, 1.5, np.float32)), "TIFF"), r"0 to 1 \(from 1.5 to 1.5\)"),
    "floats below 0": (bytes_of(Image.fromarray(np.full(SIZE, -0.1, np.float32)), "TIFF"), "floats outside 0 to 1"),
    "NaN": (bytes_of(Image.fromarray(np.full(SIZE, np.nan, np.float32)), "TIFF"), r"floats outside 0 to 1 \(from nan"),
    "32 bits": (bytes_of(Image.fromarray(np.full(SIZE, 70_000, np.int32)), "TIFF"), "whole numbers outside 0 to 65535"),
    "negative": (bytes_of(Image.fromarray(np.full(SIZE, -1, np.int32)), "TIFF"), r"\(from -1 to -1\)"),
    "16 bits in planes": (tiff(numbers(RNG, 3), planes=True), "16-bit colours in planes"),
    "60,000 × 60,000": (png(numbers(RNG, 1), 0, size=(60_000, 60_000)), "too many pixels .*64,000,000 are allowed"),
    "9,000 × 9,000": (png(numbers(RNG, 1), 0, size=(9_000, 9_000)), "too many pixels .*9000×9000; 64,000,000 are"),
    "cut off": (bytes_of(Image.fromarray(RNG.integers(0, 256, (64, 64, 3)).astype(np.uint8)), "PNG")[:900], "damaged"),
    "nothing": (b"", "not PNG, JPEG, WebP, BMP, TIFF or GIF"),
    "words": (b"an image, I swear", "not PNG, JPEG"),
    "EPS": (bytes_of(GREY, "EPS"), "not PNG, JPEG"),
    "DDS": (bytes_of(GREY.convert("RGB"), "DDS"), "not PNG, JPEG"),
    "BLP": (bytes_of(GREY.convert("P"), "BLP"), "not PNG, JPEG"),
    "PPM": (bytes_of(GREY, "PPM"), "not PNG, JPEG"),
    "WAV": (b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0", "not PNG, JPEG"),
    "HEIC": (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "not PNG, JPEG"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(read, name):
    data, reason = REFUSED[name]
    with pytest.raises(UnreadableError, match=reason):
        read(data, name="file.png")


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "fifo.png")
    (tmp_path / "link.png").symlink_to(tmp_path / "nowhere.png")
    (tmp_path / "folder.png").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket.png"))
        for name in ("fifo.png", "socket.png", "/dev/zero"):
            with pytest.raises(UnreadableError, match="a FIFO, socket or device"):
                read_image(tmp_path / name, 4, 3)
    with pytest.raises(UnreadableError, match="a link to nothing"):
        read_image(tmp_path / "link.png", 4, 3)
    with pytest.raises(UnreadableError, match="a folder"):
        read_image(tmp_path / "folder.png", 4, 3)
    with pytest.raises(FileNotFoundError):
        read_image(tmp_path / "missing.png", 4, 3)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(PICTURES)), st.data())
def test_damage_anywhere_is_one_kind_of_error(name, data):
    """Bytes changed, cut off or put in: a picture or an UnreadableError, and nothing else that Pillow may raise."""
    import tempfile
    from pathlib import Path

    whole = bytearray(PICTURES[name][0])
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(whole)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "x")
        file.write_bytes(bytes(whole[:cut] if data.draw(st.booleans()) else whole))
        with contextlib.suppress(UnreadableError):
            assert read_image(file, SIZE, 3).shape == (3, *SIZE)


def test_nothing_changes_for_the_whole_process(tmp_path):
    """Pillow's own limit stays, and of its decoders only those that are needed are loaded."""
    file = tmp_path / "picture.webp"
    file.write_bytes(PICTURES["8 rgb.webp"][0])
    code = f"""
import warnings
from pathlib import Path
from PIL import Image, ImageFile
limit, kept = Image.MAX_IMAGE_PIXELS, list(warnings.filters)
from torchcaps.data import photograph, read_image, resize
before = list(warnings.filters)
read_image(Path({str(file)!r}), 8, 3)
assert Image.MAX_IMAGE_PIXELS == limit and not ImageFile.LOAD_TRUNCATED_IMAGES
assert warnings.filters == before
assert "EPS" not in Image.ID and "DDS" not in Image.ID, Image.ID
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def with_scans(count, size=(64, 64), before=b""):
    """A progressive JPEG whose first scan comes again and again."""
    whole = bytes_of(Image.effect_noise(size, 60), "JPEG", progressive=True)
    first = whole.index(b"\xff\xda")
    second = first + 2 + re.search(rb"\xff[\x02-\xcf\xd8-\xfe]", whole[first + 2 :]).start()
    return whole[:2] + before + whole[2:first] + whole[first:second] * count + whole[second:]


def test_a_jpeg_of_thousands_of_scans_is_refused_undecoded(read, monkeypatch):
    """Half a megabyte would keep a processor busy for a minute."""
    assert read(with_scans(50)).shape == (*SIZE, 3)
    monkeypatch.setattr(photograph, "_decoded", lambda *_, **__: pytest.fail("it was decoded"))
    with pytest.raises(
        UnreadableError, match=r"too many scans \(it goes over its pixels 3,00\d times; 64 are allowed\)"
    ):
        read(with_scans(3000))


def test_what_only_looks_like_scans_is_no_reason_to_refuse(read):
    """Thumbnails in notes, and films behind the end."""
    note = b"\xff\xe2\x10\x02" + b"\xff\xda" * 2048
    assert read(with_scans(1, before=note)).shape == (*SIZE, 3)
    assert read(with_scans(1) + b"\xff\xda" * 4000).shape == (*SIZE, 3)


MEMORY = """
import resource, sys, threading
from pathlib import Path
from torchcaps.data import read_image
read_image(Path(sys.argv[1]), 8, 3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
read_image(Path(sys.argv[2]), 8, 3)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_16_bit_colours_take_little_more_memory_than_their_pictures(tmp_path):
    """At 64 million pixels it would be gigabytes: of these 4 million each may take 20 bytes, and Pillow's own are 4."""
    import zlib

    from tests.data.pictures import chunk

    side = 2000
    header = side.to_bytes(4, "big") * 2 + bytes([16, 6, 0, 0, 0])
    rows = zlib.compress(bytes(side * (1 + 8 * side)), 1)
    start, end = b"\x89PNG\r\n\x1a\n", chunk(b"IEND", b"")
    (tmp_path / "large.png").write_bytes(start + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + end)
    small = png(numbers(RNG, 4), 6)
    (tmp_path / "small.png").write_bytes(small)
    given = [sys.executable, "-c", MEMORY, str(tmp_path / "small.png"), str(tmp_path / "large.png")]
    done = subprocess.run(given, capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 20 * side * side
