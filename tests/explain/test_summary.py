"""A summary's nodes and edges are means over those they stand for."""

from collections import defaultdict
from statistics import fmean

import pytest
import torch

from tests.explain.networks import IMAGE, convolutional
from torchcaps.explain import Layer, Structure, difference, parse_trees, summarise
from torchcaps.explain.summary import is_large

KEEP = {"type": lambda node, top: (0, 0, node.type), "position": lambda node, top: (*node[1:3], node.type * top)}


@pytest.mark.parametrize("by", ["type", "position"])
def test_means_over_members(by):
    [tree] = parse_trees(convolutional(), torch.rand(1, *IMAGE), eps=0.3)
    nodes, edges, dead = defaultdict(list), defaultdict(list), defaultdict(list)
    key = lambda node: (node.layer, *KEEP[by](node, node.layer == 2))  # noqa: E731
    for node in tree.nodes():
        nodes[key(node)].append(node.strength)
        dead[key(node)].append(node.dead)
    for edge in tree.edges():
        edges[key(edge.child), key(edge.parent)].append(edge.coupling)
    small = summarise(tree, by)
    found = {node[:4]: node for node in small.nodes()}
    assert found.keys() == nodes.keys()
    for place, node in found.items():
        assert node.strength == pytest.approx(fmean(nodes[place]))
        assert node.dead == all(dead[place])
    told = {(edge.child[:4], edge.parent[:4]): edge.coupling for edge in small.edges()}
    assert told == pytest.approx({pair: fmean(values) for pair, values in edges.items()})


@pytest.mark.usefixtures("no_shape_checks")
def test_a_summary_cannot_be_compared():
    one, two = (summarise(tree) for tree in parse_trees(convolutional(), torch.rand(2, *IMAGE)))
    with pytest.raises(ValueError, match="not shares of a child"):
        difference(one, two)
    by_place = [summarise(tree, "position") for tree in parse_trees(convolutional(), torch.rand(2, *IMAGE))]
    assert [[link.shares for link in tree.structure.links] for tree in by_place] == [[False, False]] * 2
    with pytest.raises(ValueError, match="not shares of a child"):
        difference(*by_place)
    with pytest.raises(ValueError, match="by='class' is not allowed"):
        summarise(one, "class")


@pytest.mark.parametrize(("grid", "types"), [((1, 1), 64), ((8, 8), 1), ((4, 8), 2)])
def test_from_the_65th_capsule_of_a_layer_on_a_tree_is_large(grid, types):
    def tree(types):
        return Structure((Layer("primary", (1, 1), 9), Layer("classes", grid, types)), (), ("ant", "bee"))

    assert not is_large(tree(types))
    assert is_large(tree(types + 1))
