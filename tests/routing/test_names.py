"""Routings by name."""

import pytest

from torchcaps import routing
from torchcaps.routing import ROUTINGS, Dynamic, Uniform, register_routing


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


def test_a_name_of_ones_own_is_a_word_that_is_not_taken():
    for name in ("", "a-b", "two words", "../em"):
        with pytest.raises(ValueError, match=r"name=.* is not allowed: letters, digits and underscores are"):
            register_routing(name, Uniform)
    with pytest.raises(ValueError, match="name='dynamic' is not allowed: there is a routing of that name"):
        register_routing("dynamic", Uniform)
    assert ROUTINGS["dynamic"] is Dynamic
    register_routing("dynamic", Dynamic)  # again what it is
