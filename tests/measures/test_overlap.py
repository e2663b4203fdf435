"""Pairs of images: both classes or nothing, at the network's size, the same for every network."""

import pytest
import torch
from torch import nn

from tests.measures.trained import reader
from torchcaps.data import Overlapping, Sign
from torchcaps.data.glyphs import load_glyphs
from torchcaps.measures import accuracy, overlap
from torchcaps.measures._canvas import Framed, framed
from torchcaps.models import create_model
from torchcaps.network import ConvNet


@pytest.fixture(scope="module")
def digits():
    return load_glyphs("test", 120)


def test_it_is_the_papers_at_the_papers_size(digits):
    net = reader(36)
    assert overlap(net, digits) == accuracy(net, Overlapping(digits))
    assert overlap(net, digits, seed=4, pairs=2) == accuracy(net, Overlapping(digits, seed=4, pairs=2))
    assert overlap(net, digits, pairs=2).count == 240
    assert overlap(net, Overlapping(digits, single=0.5)) == overlap(net, digits)


def test_both_must_be_named():
    """Images whose brightest pixels are their classes: a network that copies pixels names both, or fails by one."""
    data = load_glyphs("test", 60)
    pairs = Overlapping(data)
    labels = pairs.batch(torch.arange(60)).labels

    class Knows(ConvNet):
        def __init__(self, answers):
            super().__init__(nn.Identity())
            self.answers = answers

        def forward(self, x, record="none"):
            scores = torch.zeros(len(x), 10).scatter(1, self.answers, 1.0)
            return super().forward(x, record)._replace(scores=scores)

    assert overlap(Knows(labels), data).value == 1
    assert overlap(Knows(labels.flip(1)), data).value == 1
    other = next(k for k in range(10) if k not in labels[0].tolist())
    one_wrong = labels.clone()
    one_wrong[0, 1] = other
    assert overlap(Knows(one_wrong), data).value == pytest.approx(59 / 60)


@pytest.mark.parametrize("size", [28, 36, 41, (30, 44)])
def test_any_canvas(digits, size):
    net = create_model("gu2021/convnet_avg", width=0.02, image_size=size)
    assert overlap(net, digits).count == 120
    height, width = size if isinstance(size, tuple) else (size, size)
    data = Framed(Overlapping(digits), (height, width))
    assert data.batch(torch.arange(3)).images.shape == (3, 1, height, width)
    if min(height, width) >= 36:
        whole = Overlapping(digits).batch(torch.arange(120)).images
        torch.testing.assert_close(data.batch(torch.arange(120)).images.sum(), whole.sum())


def test_the_middle_of_an_image():
    image = torch.arange(25.0).reshape(1, 1, 5, 5)
    assert torch.equal(framed(image, (5, 5)), image)
    assert torch.equal(framed(image, (3, 3)), image[..., 1:4, 1:4])
    assert torch.equal(framed(image, (7, 7))[..., 1:6, 1:6], image)
    assert torch.equal(framed(framed(image, (7, 9)), (5, 5)), image)


def test_seeds_decide_the_pairs(digits):
    net = reader()
    assert overlap(net, digits, seed=1) == overlap(net, digits, seed=1, batch_size=7)
    assert overlap(net, digits, seed=1) != overlap(net, digits)


def test_mistakes_are_named(digits):
    few = digits.select((digits.labels < 2).nonzero()[:, 0])
    few.classes = ("0", "1")
    net = create_model("gu2021/convnet_avg", width=0.02, num_classes=2)
    with pytest.raises(ValueError, match="'overlap' needs at least 3 classes, not 2"):
        overlap(net, few)
    with pytest.raises(ValueError, match="'overlap' needs stored images, and Sign has none"):
        overlap(create_model("peer2021/sign"), Sign(count=10))
    with pytest.raises(ValueError, match="the model takes images of 20×20"):
        overlap(create_model("gu2021/convnet_avg", width=0.02, image_size=20), digits)
