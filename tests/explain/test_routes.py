"""The strongest edges and routes, against going through all there are."""

import math

import pytest
import torch

from tests.explain.networks import IMAGE, convolutional
from torchcaps.explain import describe, parse_trees, strongest_edges, strongest_routes
from torchcaps.routing import Dynamic, InvertedAttention, Trainable


def every_route(tree, label):
    """All ways from a primary capsule to a class, each with its flow, by walking every edge."""
    above = {}
    for edge in tree.edges():
        above.setdefault(edge.child, []).append(edge)
    kind = tree.structure.layers[0].measure

    def walk(node):
        if node.layer == len(tree.couplings):
            return [([node], [])] if node.type == label else []
        return [
            ([node, *nodes], [edge.coupling, *couplings])
            for edge in above.get(node, [])
            for nodes, couplings in walk(edge.parent)
        ]

    ways = [way for node in tree.nodes() if node.layer == 0 for way in walk(node)]
    flows = [
        (nodes[0].strength if kind == "activation" else 1.0) * math.prod(map(abs, couplings))
        for nodes, couplings in ways
    ]
    return ways, flows


@pytest.mark.parametrize("routing", [Dynamic, InvertedAttention, Trainable])
def test_routes_are_the_best_of_all(routing):
    [tree] = parse_trees(convolutional(routing), 3 * torch.rand(1, *IMAGE))
    for label in range(3):
        ways, flows = every_route(tree, label)
        found = strongest_routes(tree, label, 7)
        assert [route.flow for route in found] == pytest.approx(sorted(flows, reverse=True)[:7], rel=1e-9)
        known = {tuple(nodes): couplings for nodes, couplings in ways}
        for route in found:
            assert list(route.couplings) == known[route.nodes]
        assert len({route.nodes for route in found}) == 7


def test_all_routes_if_more_are_wanted_than_there_are():
    [tree] = parse_trees(convolutional(n=1, classes=2), torch.rand(1, *IMAGE))
    ways, flows = every_route(tree, 1)
    found = strongest_routes(tree, 1, len(ways) + 9)
    assert [route.flow for route in found] == pytest.approx(sorted(flows, reverse=True), rel=1e-9)


@pytest.mark.parametrize("routing", [Dynamic, Trainable])
def test_edges_into_a_class_are_the_largest_and_never_padding(routing):
    [tree] = parse_trees(convolutional(routing), torch.rand(1, *IMAGE))
    into = sorted((e for e in tree.edges() if e.parent.layer == 2 and e.parent.type == 1), key=lambda e: -e.coupling)
    assert strongest_edges(tree, 1, 11) == into[:11]
    assert len(strongest_edges(tree, 1, 99)) == len(into) == 12


def test_a_description_of_a_padded_network_has_places():
    """`predict --explain` used to count the children of such a layer without saying where they are."""
    [tree] = parse_trees(convolutional(), torch.rand(1, *IMAGE), ["cat", "dog", "owl"])
    told = describe(tree, 2)
    assert [layer["layer"] for layer in told["layers"]] == ["primary", "hidden 1", "classes"]
    assert {"row", "column", "type", "coupling", "activation"} == told["couplings"][0].keys()
    assert all(0 <= entry["row"] < 2 and 0 <= entry["column"] < 2 for entry in told["couplings"])
    assert [route["capsules"][-1] for route in told["routes"]] == [{"class": "owl"}] * 5
    assert told["layers"][-1]["most_active"][0]["class"] in ("cat", "dog", "owl")
