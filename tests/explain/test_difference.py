"""How much two trees differ, against a twin that walks their edges."""

from collections import defaultdict
from dataclasses import replace

import pytest
import torch

from tests.explain import networks
from tests.explain.networks import IMAGE, convolutional
from torchcaps.explain import difference, parse_trees
from torchcaps.models import create_model
from torchcaps.routing import EM, Dynamic, InvertedAttention, Trainable


def naive(first, second):
    """½ Σ |share − share'| of each child, weighted by its mean activation, mean over links."""
    links = []
    for k in range(len(first.couplings)):
        rows = []
        for tree in (first, second):
            row = defaultdict(dict)
            for edge in tree.edges():
                if edge.child.layer == k:
                    row[edge.child[1:4]][edge.parent[1:4]] = edge.coupling
            rows.append(row)
        total = weights = 0.0
        for child, row in rows[0].items():
            other = rows[1][child]
            sums = sum(row.values()), sum(other.values())
            moved = sum(abs(c / sums[0] - other[parent] / sums[1]) for parent, c in row.items()) / 2
            weight = (float(first.strength[k][child]) + float(second.strength[k][child])) / 2
            weight = weight if first.structure.layers[k].measure == "activation" else 1.0
            total, weights = total + weight * moved, weights + weight
        links.append(total / weights)
    return sum(links) / len(links)


@pytest.mark.parametrize("competition", ["window", "grid"])
@pytest.mark.parametrize("routing", [Dynamic, EM, InvertedAttention])
def test_it_is_that_of_the_twin(routing, competition):
    one, two = parse_trees(convolutional(routing, competition), 4 * torch.randn(2, *IMAGE))
    assert difference(one, two).value == pytest.approx(naive(one, two), abs=1e-12)
    assert difference(two, one).value == pytest.approx(difference(one, two).value, abs=1e-15)
    assert difference(one, one).value == 0


def by_hand(coupling, strength=(1.0, 1.0)):
    return networks.by_hand(coupling, strength=[strength, (1.0, 1.0)])


def test_known_answers():
    straight, crossed = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
    assert difference(by_hand(straight), by_hand(crossed)).value == 1
    half = [[0.5, 0.5], [0.0, 1.0]]
    assert difference(by_hand(straight), by_hand(half)).value == pytest.approx(0.25)
    # The child that moved is three times as active as the other: (0.9 · 0.5) / (0.9 + 0.3).
    told = difference(by_hand(straight, (1.0, 0.2)), by_hand(half, (0.8, 0.4)))
    assert told.value == pytest.approx(0.9 * 0.5 / 1.2)
    assert told.links == (told.value,)


def test_what_cannot_be_compared_is_said():
    one, two = parse_trees(convolutional(Trainable), torch.rand(2, *IMAGE))
    with pytest.raises(ValueError, match="not shares of a child"):
        difference(one, two)
    with pytest.raises(ValueError, match="different networks"):
        difference(one, by_hand([[1.0, 0.0], [0.0, 1.0]]))
    dead = by_hand([[1.0, 0.0], [0.0, 1.0]], (0.0, 0.0))
    with pytest.raises(ValueError, match="nothing is active"):
        difference(dead, dead)
    [plain] = parse_trees(create_model("gu2021/convnet_avg", width=0.02, image_size=20), torch.rand(1, 1, 20, 20))
    with pytest.raises(ValueError, match="without capsules"):
        difference(plain, plain)


def test_a_layer_without_shares_is_left_out():
    net = convolutional()
    one, two = parse_trees(net, 4 * torch.randn(2, *IMAGE))
    links = (replace(one.structure.links[0], shares=False), one.structure.links[1])
    mixed = [replace(tree, structure=replace(tree.structure, links=links)) for tree in (one, two)]
    told = difference(*mixed)
    assert told.links == (None, difference(one, two).links[1])
    assert told.value == told.links[1]
