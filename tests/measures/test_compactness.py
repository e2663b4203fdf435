"""Compactness on capsules written by hand: one dimension that moves, all of them, none."""

import math

import pytest
import torch
from torch import nn

from torchcaps.data import Stored
from torchcaps.data.glyphs import load_glyphs
from torchcaps.measures import Compactness, Nothing, swept, walk
from torchcaps.measures.compactness import divergence
from torchcaps.models import create_model
from torchcaps.network import ConvNet
from torchcaps.types import Capsules, Parse


class Reads(ConvNet):
    """Class capsules that are a function of the sum of pixels' columns, so that a shift to the right moves them."""

    def __init__(self, code, classes=2):
        super().__init__(nn.Identity())
        self.code, self.classes = code, classes

    def forward(self, x, record="none"):
        at = (x.sum((1, 2)) * torch.arange(x.shape[-1])).sum(-1) / x.sum((1, 2, 3))
        pose = self.code(at.round(decimals=3))[:, None, None]
        return Parse(torch.zeros(len(x), self.classes), [Capsules(pose, pose.norm(dim=-1))], [], [])


def dots(count=4):
    images = torch.zeros(count, 1, 31, 31, dtype=torch.uint8)
    images[:, :, 15, 15] = 255
    return Stored(images, torch.arange(count) % 2, ("a", "b"))


def measured(code, factors=("shift_x", "shift_y"), data=None, **options):
    net = Reads(code)
    return walk(net, swept(factors)(net, dots() if data is None else data), [Compactness()], **options)[0]


def test_one_moving_dimension_is_log_d():
    """Dimension 3 of five follows the shift, for class a; class b's capsule does not move at all."""

    def code(at):
        pose = torch.zeros(len(at), 2, 5)
        pose[:, 0, 3] = at
        return pose

    right, down = measured(code).factors
    assert right.mean == pytest.approx(math.log(5))
    assert (right.images, right.still, right.deviation) == (2, 2, 0)
    assert (down.mean, down.images, down.still) == (None, 0, 4)


def test_all_moving_alike_is_nothing_and_half_is_log_two():
    [alike] = measured(lambda at: at[:, None, None].expand(-1, 2, 6).clone(), ("shift_x",)).factors
    assert alike.mean == pytest.approx(0, abs=1e-12)
    half = torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    [two] = measured(lambda at: (at[:, None, None] * half).expand(-1, 2, 6).clone(), ("shift_x",)).factors
    assert two.mean == pytest.approx(math.log(2))


def test_the_formula_in_plain_python():
    poses = torch.randn(3, 11, 4)
    for b, found in enumerate(divergence(poses).tolist()):
        var = [torch.tensor([float(v) for v in poses[b, :, k]], dtype=torch.double).var(correction=0) for k in range(4)]
        p = [float(v / sum(var)) for v in var]
        assert found == pytest.approx(sum(q * math.log(q / 0.25) for q in p), rel=1e-6)


def test_it_is_the_true_class_whose_capsule_counts():
    def code(at):
        pose = torch.zeros(len(at), 2, 4)
        pose[:, 0, 0] = at
        pose[:, 1] = at[:, None]
        return pose

    data = dots(3)  # labels a, b, a
    [found] = measured(code, ("shift_x",), data).factors
    assert found.mean == pytest.approx(2 / 3 * math.log(4))


def test_the_batch_size_changes_nothing_and_networks_differ():
    digits = load_glyphs("test", 9)
    net = create_model("gu2021/convnet_r", width=0.02, image_size=28)
    large, small = (walk(net, swept()(net, digits), [Compactness()], batch_size=b)[0] for b in (256, 12))
    for a, b in zip(large.factors, small.factors, strict=True):
        assert (a.mean, a.images) == pytest.approx((b.mean, b.images), rel=1e-4)
    assert large.dims == 16
    assert all(0 < f.mean < math.log(16) for f in large.factors)
    plain = create_model("gu2021/convnet_avg", width=0.02, image_size=28)
    assert walk(plain, swept()(plain, digits), [Compactness()]) == [
        Nothing("compactness", "the network has no class capsules")
    ]
