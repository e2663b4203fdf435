"""What every routing promises, in every layer, under every schedule and in every precision: `check_routing`."""

from functools import partial

import pytest
import torch

from tests.contracts.networks import WINDOWS, build, images
from torchcaps.routing import EM, ROUTINGS, Dynamic, InvertedAttention, SelfRouting, Trainable, Uniform
from torchcaps.testing import CASES, check_routing
from torchcaps.testing._routing import TWICE

each = pytest.mark.parametrize("routing", ROUTINGS)


@each
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_the_contract(routing, case):
    check_routing(ROUTINGS[routing], [case])


@each
def test_the_contract_in_small_tiles(routing, small_tiles):
    """Above all the derivatives: tiled passes must not count twice what reaches a query through the votes."""
    check_routing(ROUTINGS[routing], TWICE)


VARIANTS = {
    "dynamic with prior and bias": partial(Dynamic, prior=True, bias=True, iters=2),
    "em whose poses show activations": partial(EM, output="length"),
    "inverted attention with activations": partial(InvertedAttention, activations=True),
    "inverted attention without norm": partial(InvertedAttention, norm=False),
    "inverted attention from random poses": partial(InvertedAttention, start="random"),
    "self-routing as released": partial(SelfRouting, bias=True, gate_init="zero"),
    "trainable for each position": partial(Trainable, per_position=True),
    "uniform over parents": partial(Uniform, over="parents"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_contract_with_other_options(name):
    check_routing(VARIANTS[name], TWICE)


def test_the_networks_of_the_contract():
    """Their shapes, spelled out: a layer that pads, a hidden grid, class capsules on top."""
    for connection, grid, children in (("connected", (1, 1), 24), ("convolutional", (3, 4), 18)):
        parse = build("dynamic", "matrix", connection)(images(2), record="last")
        assert [tuple(c.pose.shape) for c in parse.capsules] == [(2, 3, 4, 2, 6), (2, *grid, 4, 6), (2, 1, 1, 3, 4)]
        assert [tuple(c.shape) for c in parse.couplings] == [
            (2, *grid, children, 4),
            (2, 1, 1, grid[0] * grid[1] * 4, 3),
        ]


@pytest.mark.parametrize("connection", WINDOWS)
@pytest.mark.parametrize("size", [(2, 4), (5, 4)])
def test_images_of_another_size_are_refused(connection, size):
    net = build("dynamic", "vector", connection)
    with pytest.raises(ValueError, match="images must have the size the network was built for"):
        net(torch.randn(1, 12, *size))


def test_half_precision_reaches_the_capsules_under_autocast():
    """What the bfloat16 contract rests on: the primary poses are bfloat16, the capsule layers compute in float32."""
    net, x = build("dynamic"), images(2)
    with torch.autocast("cpu", torch.bfloat16):
        parse = net(x, record="last")
    assert parse.capsules[0].pose.dtype == torch.bfloat16
    assert parse.capsules[1].pose.dtype == torch.float32
