"""Warped images: the data set's own at the network's size, the same for every network."""

import pytest
import torch

from tests.measures.scripted import Eyes
from tests.measures.trained import reader
from torchcaps.data import Affine, Augmented, Overlapping, Placed, Sign, Stored, Strength
from torchcaps.data.glyphs import load_glyphs
from torchcaps.measures import accuracy, affine
from torchcaps.models import create_model

STILL = Strength(rotation=0.0, shear=0.0, scale=(1.0, 1.0), translation=0.0)


@pytest.fixture(scope="module")
def digits():
    return load_glyphs("test", 120)


def shown(data, **options):
    net = Eyes(len(data.classes))
    affine(net, data, **options)
    return torch.cat(net.seen)


def test_a_larger_network_gets_the_papers_canvas(digits):
    net = reader(40)
    assert affine(net, digits) == accuracy(net, Affine(digits))
    assert affine(net, digits, seed=5) == accuracy(net, Affine(digits, seed=5))
    assert affine(net, Placed(digits)) == affine(net, digits)
    assert affine(net, Augmented(Placed(digits))) == affine(net, digits)
    assert affine(net, Overlapping(digits)) == affine(net, digits)


def test_the_size_comes_from_recipe_data_or_argument(digits):
    own = reader(34)
    assert affine(own, digits) == accuracy(own, Affine(digits, canvas=34))
    assert shown(digits).shape[2:] == (28, 28)
    assert shown(Placed(digits)).shape[2:] == (40, 40)
    assert shown(digits, image_size=33).shape[2:] == (33, 33)


def test_a_trained_network_is_wrong_more_often_if_more_is_warped(digits):
    """And where nothing is, as often as without."""
    net, half = reader(), Strength(rotation=10.0, shear=20.0, scale=(0.9, 1.1), translation=2.0)
    scores = [affine(net, digits, strength=strength).value for strength in (STILL, half, Strength())]
    assert scores[0] == pytest.approx(accuracy(net, digits).value, abs=0.02)
    assert min(scores[:2]) > scores[2] + 0.1
    assert affine(net, digits, seed=5) != affine(net, digits)
    turned = [affine(net, digits, strength=STILL._replace(rotation=angle)).value for angle in (20.0, 180.0)]
    assert turned[0] > turned[1] + 0.2


def test_in_place_nothing_moves_without_strength(digits):
    """A digit that fits, half a pixel of blur included, stays where it is."""
    index = torch.arange(120)
    plain = digits.batch(index).images
    still = shown(digits, strength=STILL)
    inner = torch.zeros(28, 28)
    inner[1:-1, 1:-1] = 1
    fits = (plain == plain * inner).flatten(1).all(-1)
    assert fits.float().mean() > 0.5
    torch.testing.assert_close(still[fits], plain[fits], atol=1e-4, rtol=1e-4)
    assert (shown(digits) - plain).abs().mean() > 0.01


def test_seeds_decide_the_warps(digits):
    assert torch.equal(shown(digits, seed=1), shown(digits, seed=1, batch_size=7))
    assert not torch.equal(shown(digits, seed=1), shown(digits, seed=2))


def test_colour_images(no_shape_checks):
    photos = Stored(torch.randint(0, 256, (20, 3, 16, 16), dtype=torch.uint8), torch.arange(20) % 4, "abcd")
    assert shown(photos).shape == (20, 3, 16, 16)


def test_mistakes_are_named(digits):
    small = create_model("gu2021/convnet_avg", width=0.02, image_size=20)
    with pytest.raises(ValueError, match="the model takes images of 20×20, but those of the data are 28×28"):
        affine(small, digits)
    colour = create_model("gu2021/convnet_avg", width=0.02, in_chans=3)
    with pytest.raises(ValueError, match="the model takes images of 3 channels, but those of the data have 1"):
        affine(colour, digits)
    oblong = create_model("gu2021/convnet_avg", width=0.02, image_size=(40, 44))
    with pytest.raises(ValueError, match="square canvases, but the model takes images of 40×44"):
        affine(oblong, digits)
    with pytest.raises(ValueError, match="'affine' needs stored images, and Sign has none"):
        affine(create_model("peer2021/sign"), Sign(count=10))
