"""How a file that a network is asked about is read, and what a program is told to do the same."""

import json

import numpy as np
import pytest
from PIL import Image, ImageOps

from torchcaps.data import Reading, look_through

SIZES = {  # the way of each to a picture of 20×10 (width × height), written with Pillow alone
    "pad": lambda image: ImageOps.pad(image, (20, 10), Image.Resampling.BILINEAR),
    "crop": lambda image: ImageOps.fit(image, (20, 10), Image.Resampling.BILINEAR),
    "squash": lambda image: image.resize((20, 10), Image.Resampling.BILINEAR),
}


@pytest.fixture
def file(tmp_path):
    """A picture higher than wide whose right half is transparent."""
    pixels = np.random.default_rng(0).integers(0, 256, (40, 30, 4)).astype(np.uint8)
    pixels[..., 3] = np.where(np.arange(30) < 15, 255, 0)
    (tmp_path / "cat").mkdir()
    Image.fromarray(pixels).save(tmp_path / "cat" / "x.png")
    return tmp_path / "cat" / "x.png"


@pytest.mark.parametrize("background", ["white", "black"])
@pytest.mark.parametrize("fit", SIZES)
def test_size_and_background_are_the_trainings(file, fit, background):
    """For a folder to learn from, and for a file that is asked about."""
    with Image.open(file) as image:
        ground = Image.new("RGBA", image.size, background)
        flat = Image.alpha_composite(ground, image).convert("RGB")
    expected = np.moveaxis(np.asarray(SIZES[fit](flat)), -1, 0)
    assert np.array_equal(Reading((3, 10, 20), fit, background).read(file), expected)
    own = look_through(file.parent.parent, image_size=16, fit=fit, background=background)
    square = Reading((3, 16, 16), fit, background).read(file)
    assert np.array_equal(own.stored(own.items).images[0].numpy(), square)


def test_what_a_program_is_told():
    told = Reading((3, 10, 20), "crop", "black").metadata(("chat", "éléphant"))
    assert json.loads(told["image_shape"]) == [3, 10, 20]
    assert json.loads(told["classes"]) == ["chat", "éléphant"]
    assert (told["fit"], told["background"], told["channels"]) == ("crop", "black", "red, green, blue")
    assert "cut off" in told["resize"]
    assert "BILINEAR" in told["resize"]


def test_what_a_program_is_told_of_a_network_of_the_first_version():
    """Its pictures were squashed, bicubic, whatever is written beside."""
    told = Reading((1, 17, 17), "pad", before=True).metadata(("a",))
    assert (told["fit"], told["channels"]) == ("squash", "grey")
    assert "scaled apart" in told["resize"]
    assert "BICUBIC" in told["resize"]
