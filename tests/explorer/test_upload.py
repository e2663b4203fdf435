"""Files from a visitor's disk."""

from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from torchcaps.data import Reading
from torchcaps.explorer.upload import uploaded

READING = Reading((1, 28, 28), background="black")


def as_png(picture):
    file = BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def test_a_picture_of_its_own_size_comes_as_it_is():
    pixels = np.random.default_rng(0).integers(0, 256, (28, 28), dtype=np.uint8)
    found = uploaded(as_png(Image.fromarray(pixels)), READING)
    assert torch.equal((found[0] * 255).round(), torch.from_numpy(pixels).float())


def test_another_is_made_to_fit():
    found = uploaded(as_png(Image.new("RGB", (300, 200), "white")), READING)
    assert found.shape == (1, 28, 28)
    assert found.max() == 1


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"<svg/>", "not PNG, JPEG"),
        (as_png(Image.effect_noise((40, 40), 99))[:200], "cannot be read as a picture: damaged"),
        (as_png(Image.new("L", (5000, 1))), "5000×1 pixels, and 4096×4096 are allowed"),
        (as_png(Image.new("L", (1, 5000))), "1×5000 pixels, and 4096×4096 are allowed"),
    ],
    ids=["empty", "another kind", "half a file", "too wide", "too high"],
)
def test_what_is_no_picture_is_refused_in_a_word(data, why):
    with pytest.raises(ValueError, match=why):
        uploaded(data, READING)
