"""Routings by name."""

from torchcaps import routing
from torchcaps.routing import ROUTINGS


def test_each_name_is_its_own_routing():
    words = {
        "uniform": "Uniform",
        "trainable": "Trainable",
        "dynamic": "Dynamic",
        "em": "EM",
        "inverted_attention": "InvertedAttention",
        "self_routing": "SelfRouting",
        "variational": "Variational",
        "self_attention": "SelfAttention",
    }
    assert {name: getattr(routing, word) for name, word in words.items()} == ROUTINGS
