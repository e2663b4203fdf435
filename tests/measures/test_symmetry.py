"""f(−u) against ±f(u): the theorems of peer2021, their biased twins, and functions written by hand."""

import pytest
import torch
from torch import nn

from tests.contracts.networks import build, images
from torchcaps.data import Batch, Dataset
from torchcaps.layers import CapsuleLayer
from torchcaps.measures import Symmetry, layer_symmetry, walk
from torchcaps.network import ConvNet
from torchcaps.routing import EM, Dynamic
from torchcaps.types import CapsShape, Capsules


class Given(Dataset):
    """These images."""

    def __init__(self, shown, classes=3):
        super().__init__([str(k) for k in range(classes)], tuple(shown.shape[1:]))
        self.shown = shown

    def __len__(self):
        return len(self.shown)

    def batch(self, index, epoch=0):
        return Batch(self.shown[index], torch.zeros(len(index), 1, dtype=torch.long))


def measured(net, shown, batch_size=4, classes=3):
    [found] = walk(net, Given(shown, classes), [Symmetry()], batch_size=batch_size)
    return {part.what: part for part in found.parts}


@pytest.mark.parametrize("schedule", ["sequential", "concurrent"])
@pytest.mark.parametrize("routing", ["dynamic", "em"])
def test_the_theorems(routing, schedule):
    """Without a bias poses are odd and activations even in every layer, and the scores cannot tell."""
    parts = measured(build(routing, schedule=schedule).double(), images(9, dtype=torch.double))
    for layer in ("hidden 1", "classes"):
        assert parts[f"{layer}: poses"].odd < 1e-9
        assert parts[f"{layer}: poses"].even == pytest.approx(2)
        assert parts[f"{layer}: activations"].even < 1e-9
    assert parts["scores"].even < 1e-9
    assert parts["scores of negated images"].even < 1e-9  # the contract's primary capsules are linear in the image


def test_a_bias_breaks_it():
    biased = build("dynamic", factory=lambda shape: Dynamic(shape, bias=True))
    parts = measured(biased.double(), images(9, dtype=torch.double))
    assert min(parts["hidden 1: poses"].odd, parts["scores"].even) > 1e-3
    below = Capsules(torch.randn(5, 1, 1, 4, 6), torch.rand(5, 1, 1, 4))
    pose, _ = layer_symmetry(CapsuleLayer(CapsShape((1, 1), 4, 6), 3, vote_bias=True, routing=EM), below)
    assert pose.odd > 1e-3


@pytest.mark.parametrize(
    ("f", "even", "odd"),
    [
        (lambda x: x.sum((2, 3)), 2.0, 0.0),
        (lambda x: x.sum((2, 3)).abs(), 0.0, 2.0),
        (lambda x: 3 + 0 * x.sum((2, 3)), 0.0, 2.0),
        (lambda x: x.sum((2, 3)).clamp_min(0), 1.0, 1.0),
        (lambda x: 0 * x.sum((2, 3)), None, None),
    ],
)
def test_functions_by_hand(f, even, odd):
    """Odd, even, constant, half of either, and nothing at all; images come as a value and its negative."""

    class Made(ConvNet):
        def forward(self, x, record="none"):
            return super().forward(x, record)._replace(scores=f(x))

    values = torch.tensor([1.0, -1.0, 2.0, -2.0]).reshape(4, 1, 1, 1).expand(4, 2, 1, 1)
    [part] = measured(Made(nn.Flatten()), values, batch_size=3, classes=2).values()
    assert part.even == (None if even is None else pytest.approx(even * (2**0.5 if odd == even else 1)))
    assert part.odd == (None if odd is None else pytest.approx(odd * (2**0.5 if odd == even else 1)))
