"""Single transformations: what each does to points, how images are laid out, and the curves over them."""

import math

import kornia
import pytest
import torch
from torch import nn

from tests.measures.trained import reader
from torchcaps.data import Placed, Sign, Stored, Strength
from torchcaps.data.glyphs import load_glyphs
from torchcaps.measures import FACTORS, AffineCurves, swept, walk
from torchcaps.measures.sweep import steps
from torchcaps.network import ConvNet


@pytest.fixture(scope="module")
def digits():
    return load_glyphs("test", 6)


class Brightest(ConvNet):
    """Says where the brightest pixel is, in pixels from the middle: right, and down."""

    def __init__(self):
        super().__init__(nn.Identity())
        self.found = []

    def forward(self, x, record="none"):
        at = x.flatten(1).argmax(-1)
        size = x.shape[-1]
        self.found += [(int(k) % size - size // 2, int(k) // size - size // 2) for k in at]
        return super().forward(x, record)._replace(scores=torch.rand(len(x), 2))


def dot(x, y, size=21):
    image = torch.zeros(1, 1, size, size, dtype=torch.uint8)
    image[0, 0, size // 2 + y, size // 2 + x] = 255
    return Stored(image, torch.tensor([0]), ("a", "b"))


@pytest.mark.parametrize(
    ("factor", "moves"),
    {
        "rotation": lambda v, x, y: (x * math.cos(v) - y * math.sin(v), x * math.sin(v) + y * math.cos(v)),
        "shear_x": lambda v, x, y: (x + math.tan(v) * y, y),
        "shear_y": lambda v, x, y: (x, y + math.tan(v) * x),
        "scale": lambda v, x, y: (x * v, y * v),
        "shift_x": lambda v, x, y: (x + v, y),
        "shift_y": lambda v, x, y: (x, y + v),
    }.items(),
)
def test_where_a_dot_goes(factor, moves):
    """A dot off both axes, so that left and right, up and down, and x and y cannot be mixed up."""
    strength = Strength(rotation=40.0, shear=45.0, scale=(0.5, 1.5), translation=5.0)
    net, values = Brightest(), steps(factor, 5, strength).values
    walk(net, swept((factor,), 5, strength=strength)(net, dot(4, -2)), [AffineCurves()])
    for (x, y), value in zip(net.found, values, strict=True):
        angle = math.radians(value) if factor in ("rotation", "shear_x", "shear_y") else value
        expected = moves(angle, 4, -2)
        assert (x, y) == pytest.approx(expected, abs=0.75), value


def test_the_steps():
    assert steps("rotation").values == (-20, -16, -12, -8, -4, 0, 4, 8, 12, 16, 20)
    scale = steps("scale", 5)
    assert (scale.values, scale.strengths) == ((0.8, 0.9, 1.0, 1.1, 1.2), pytest.approx((0.1, 0.2)))
    assert [scale.both(k) for k in range(2)] == [(1, 3), (0, 4)]
    with pytest.raises(ValueError, match="factor='shear' is not allowed: choose one of 'rotation'"):
        steps("shear")
    with pytest.raises(ValueError, match="count=4 is not allowed: it must be odd"):
        steps("scale", 4)


def test_every_image_at_every_value(digits):
    data = swept(("rotation", "shift_y"), 3)(ConvNet(nn.Identity()), Placed(digits))
    assert (len(data), data.image_shape) == (2 * 6 * 3, (1, 40, 40))
    batches = list(data.batches(7))
    assert [len(b.images) for b in batches] == [6] * 6
    assert len(next(data.batches(1)).images) == 3
    labels = torch.cat([b.labels for b in batches])[:, 0]
    assert torch.equal(labels, digits.labels.repeat_interleave(3).repeat(2))
    images = torch.cat([b.images for b in batches])
    plain = nn.functional.pad(digits.batch(torch.arange(6)).images, (6,) * 4)
    torch.testing.assert_close(images[1::3], plain.repeat(2, 1, 1, 1), atol=1e-4, rtol=0)
    down = images[18:][2::3]
    torch.testing.assert_close(down[:, :, 8:], plain[:, :, :-8], atol=1e-4, rtol=0)
    with pytest.raises(ValueError, match="shuffle=True is not allowed"):
        data.batches(3, shuffle=True)


def test_curves_are_accuracies_at_each_value():
    """Of a trained network on images that kornia warps, each matrix by hand, around the middle of 28×28."""
    net, digits = reader(), load_glyphs("test", 40)
    strength = Strength(rotation=40.0, shear=45.0, scale=(0.6, 1.4), translation=6.0)
    [found] = walk(net, swept(count=3, strength=strength)(net, digits), [AffineCurves()], batch_size=13)
    assert [c.factor for c in found.curves] == list(FACTORS)
    assert found.images == 40  # at each value
    images, labels, _ = digits.batch(torch.arange(40))
    seen = set()
    for curve in found.curves:
        for value, hits in zip(curve.values, curve.hits, strict=True):
            angle = math.radians(value)
            matrix, shift = {
                "rotation": ([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]], [0, 0]),
                "shear_x": ([[1, math.tan(angle)], [0, 1]], [0, 0]),
                "shear_y": ([[1, 0], [math.tan(angle), 1]], [0, 0]),
                "scale": ([[value, 0], [0, value]], [0, 0]),
                "shift_x": ([[1, 0], [0, 1]], [value, 0]),
                "shift_y": ([[1, 0], [0, 1]], [0, value]),
            }[curve.factor]
            middle = torch.tensor([13.5, 13.5])
            offset = middle + torch.tensor(shift) - torch.tensor(matrix).float() @ middle
            whole = torch.cat([torch.tensor(matrix).float(), offset[:, None]], 1).expand(40, 2, 3)
            warped = kornia.geometry.transform.warp_affine(images, whole, (28, 28), align_corners=True)
            with torch.no_grad():
                right = net(warped).scores.argmax(-1) == labels[:, 0]
            assert hits == int(right.sum()), (curve.factor, value)
            seen.add(hits)
    assert len(seen) > 6, "or a wrong warp would go unseen"


def test_mistakes_are_named(digits):
    net = ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(784, 10)))
    with pytest.raises(ValueError, match="'affine curves' follows images through single transformations, but Stored"):
        walk(net, digits, [AffineCurves()])
    with pytest.raises(ValueError, match="'sweep' needs stored images, and Sign has none"):
        swept()(net, Sign(count=3))
