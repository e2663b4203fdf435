"""Which layers have activations and couplings that mean something, and what is said of the others."""

import pytest
from torch import nn

from torchcaps.functional import identity
from torchcaps.layers import CapsuleLayer, LinearHead, PrimaryCapsules
from torchcaps.measures._layers import layer_names, layer_sizes, why_no_activation, why_no_couplings
from torchcaps.network import CapsNet
from torchcaps.routing import Dynamic, InvertedAttention, Trainable
from torchcaps.types import CapsShape

GRID = CapsShape((3, 3), 2, 4)


def network(routing=Dynamic, **primary):
    first = PrimaryCapsules(
        (8, 3, 3), n=2, d=4, kernel=None if primary.get("activation") != "learned" else 1, **primary
    )
    hidden = CapsuleLayer(first.shape_out, n=5, window=2, routing=routing)
    top = CapsuleLayer(hidden.shape_out, n=3, routing=routing)
    return CapsNet(nn.Identity(), first, [hidden, top], LinearHead(top.shape_out))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, ""),
        ({"norm": True}, "layer norm gives every pose the same length"),
        ({"norm": True, "activation": "learned"}, ""),
        ({"activation": "one"}, "every primary capsule has activation 1"),
        ({"squash": identity}, "the poses are not squashed, so that their length is no activation"),
    ],
)
def test_primary_capsules(options, said):
    assert why_no_activation(network(**options)) == [said, "", ""]


def test_layers_above():
    assert (
        why_no_activation(network(InvertedAttention))[1:] == ["InvertedAttention gives every capsule activation 1"] * 2
    )
    raw = why_no_activation(network(lambda shape: Dynamic(shape, squash=identity)))
    assert raw[1:] == ["the poses are not squashed, so that their length is no activation"] * 2


def test_couplings_that_belong_to_no_child():
    """The released code of tsai2020 mixes up positions; where there is one alone, nothing is mixed up."""
    many, one = CapsuleLayer(GRID, 2, window=2, compat="apple"), CapsuleLayer(GRID, 2, compat="apple")
    assert (many.shape_out.grid, one.shape_out.grid) == ((2, 2), (1, 1))
    assert "mixes up positions" in why_no_couplings(many)
    assert why_no_couplings(one) == why_no_couplings(CapsuleLayer(GRID, 2, window=2)) == ""
    assert "couplings of Trainable do not sum to one" in why_no_couplings(CapsuleLayer(GRID, 2, routing=Trainable))


def test_names_and_sizes():
    net = network()
    assert layer_names(net) == ("primary", "hidden 1", "classes")
    assert layer_sizes(net) == [3 * 3 * 2, 2 * 2 * 5, 3]
