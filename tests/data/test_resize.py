"""One rule for sizes: what pad, crop and squash do, and that arrays and pictures go through the same."""

import numpy as np
import pytest
import torch
from PIL import Image

from torchcaps.data import Stored
from torchcaps.data.resize import FITS, RULES, check_fit, fitted, resized

RNG = np.random.default_rng(0)


def picture(height, width):
    return Image.fromarray(RNG.integers(0, 256, (height, width, 3)).astype(np.uint8))


@pytest.mark.parametrize("shape", [(40, 60), (60, 40), (31, 31), (5, 90), (9, 4)], ids=str)
def test_by_hand(shape):
    """Scaled first and framed after, or cut first and scaled after: the twins know one filter and no library."""
    (h, w), size = shape, 28
    image = picture(h, w)
    pixels = np.asarray(image).astype(float)
    scale = size / max(h, w)
    high, wide = max(1, round(h * scale)), max(1, round(w * scale))
    bars = np.zeros((size, size, 3))
    top, left = round((size - high) / 2), round((size - wide) / 2)
    bars[top : top + high, left : left + wide] = triangle(pixels, (0, h), (0, w), (high, wide))
    least = min(h, w)
    middle = [((side - least) / 2, (side + least) / 2) for side in shape]
    twins = {
        "squash": triangle(pixels, (0, h), (0, w), (size, size)),
        "pad": bars,
        "crop": triangle(pixels, *middle, (size, size)),
    }
    for fit in FITS:
        assert np.abs(np.asarray(fitted(image, (size, size), fit)) - twins[fit]).max() <= 1.1  # whole numbers, twice


def triangle(pixels, rows, columns, size):
    """Every pixel a mean weighed by a triangle as wide as two of the larger pixels."""

    def weights(begin, end, side, count):
        scale = (end - begin) / count
        centres = begin + (np.arange(count) + 0.5) * scale
        far = np.abs(np.arange(side) + 0.5 - centres[:, None]) / max(1, scale)
        near = np.clip(1 - far, 0, None)
        return near / near.sum(1, keepdims=True)

    down = weights(*rows, pixels.shape[0], size[0])
    across = weights(*columns, pixels.shape[1], size[1])
    return np.einsum("yh,xw,hwc->yxc", down, across, pixels)


def test_what_each_keeps():
    """A white picture twice as wide as high: all of it between bars, its middle, or all of it squeezed."""
    image = Image.new("L", (40, 20), 255)
    padded = np.asarray(fitted(image, (20, 20), "pad"))
    assert (padded[5:15] == 255).all()
    assert padded[:5].max() == padded[15:].max() == 0
    image.paste(0, (0, 0, 10, 20))  # what a crop leaves off
    assert np.asarray(fitted(image, (20, 20), "crop")).min() == 255
    assert np.asarray(fitted(image, (20, 20), "squash"))[:, :4].max() == 0


@pytest.mark.parametrize("fit", FITS)
def test_height_comes_before_width(fit):
    """A picture of the very shape that is wanted is only made smaller, whatever becomes of others."""
    image = picture(20, 60)
    made = np.asarray(fitted(image, (10, 30), fit))
    assert np.abs(made - triangle(np.asarray(image).astype(float), (0, 20), (0, 60), (10, 30))).max() <= 1.1


def test_a_hair_is_no_accident():
    for fit in FITS:
        assert np.asarray(fitted(Image.new("L", (1000, 1), 255), (8, 8), fit)).shape == (8, 8)


def test_arrays_as_pictures():
    pictures = [picture(13, 9) for _ in range(3)]
    images = torch.from_numpy(np.stack(pictures)).movedim(-1, 1)
    data = resized(Stored(images, torch.tensor([0, 1, 0]), ("a", "b")), 11, "crop")
    assert data.image_shape == (3, 11, 11)
    for image, made in zip(pictures, data.images, strict=True):
        assert np.array_equal(np.asarray(fitted(image, (11, 11), "crop")), made.movedim(0, -1).numpy())


def test_names():
    assert set(RULES) == set(FITS)
    with pytest.raises(ValueError, match="fit='stretch' is not allowed: choose one of 'pad', 'crop', 'squash'"):
        check_fit("stretch")


@pytest.mark.parametrize("size", [(5, 7), (7, 5)])
def test_one_side_of_the_size_asked_for_is_not_enough(size):
    data = Stored(torch.zeros(2, 1, *size, dtype=torch.uint8), torch.tensor([0, 1]), ("a", "b"))
    assert resized(data, 5).image_shape == (1, 5, 5)


def test_images_of_the_size_asked_for_are_left_alone():
    data = Stored(torch.zeros(2, 1, 5, 5, dtype=torch.uint8), torch.tensor([0, 1]), ("a", "b"))
    assert resized(data, 5) is data
