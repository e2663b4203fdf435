"""The strongest edges and routes, against going through all there are."""

import math

import pytest
import torch

from tests.explain.networks import IMAGE, by_hand, convolutional
from torchcaps.explain import (
    Layer,
    Link,
    Structure,
    Tree,
    describe,
    parse_trees,
    strongest_edges,
    strongest_routes,
)
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


def test_routes_through_a_hidden_grid_that_is_not_square():
    structure = Structure(
        (Layer("primary", (2, 3), 2), Layer("hidden 1", (2, 3), 2), Layer("classes", (1, 1), 2)),
        (Link((1, 1)), Link((2, 3))),
        ("a", "b"),
    )
    strength = tuple(torch.rand(*layer.grid, layer.types).double() for layer in structure.layers)
    couplings = (torch.rand(2, 3, 2, 2).double(), torch.rand(1, 1, 12, 2).double())
    tree = Tree(structure, strength, tuple(s < 0 for s in strength), couplings)
    for label in range(2):
        ways, flows = every_route(tree, label)
        best = sorted(zip(flows, ways, strict=True), key=lambda pair: -pair[0])
        found = strongest_routes(tree, label, 24)
        assert [route.flow for route in found] == pytest.approx([flow for flow, _ in best])
        assert [(list(route.nodes), list(route.couplings)) for route in found] == [way for _, way in best]


def test_padding_takes_no_place_of_negative_edges():
    [tree] = parse_trees(convolutional(Trainable), torch.rand(1, *IMAGE))
    couplings = (tree.couplings[0], -tree.couplings[1].abs() - 0.1)
    down = Tree(tree.structure, tree.strength, tree.dead, couplings)
    into = sorted((e for e in down.edges() if e.parent.layer == 2 and e.parent.type == 1), key=lambda e: -e.coupling)
    assert strongest_edges(down, 1, 5) == into[:5]
    assert into[0].coupling < 0


def test_what_is_told_of_a_tree_is_in_it():
    """Primary capsules on 4×3, so that rows and columns are not the same."""
    [tree] = parse_trees(convolutional(), 4 * torch.rand(1, *IMAGE), ["cat", "dog", "owl"])
    told = describe(tree, 2, 4)
    assert [(layer["grid"], layer["types"]) for layer in told["layers"]] == [([4, 3], 2), ([2, 2], 3), ([1, 1], 3)]
    for depth, layer in enumerate(told["layers"]):
        best = sorted(tree.level(depth), key=lambda node: -node.strength)[:4]
        for entry, node in zip(layer["most_active"], best, strict=True):
            place = {"row": node.row, "column": node.column, "type": node.type} if depth < 2 else {}
            name = {"class": ("cat", "dog", "owl")[node.type]} if depth == 2 else {}
            assert entry == {**place, **name, "activation": node.strength}
    for entry, edge in zip(told["couplings"], strongest_edges(tree, 2, 4), strict=True):
        _, row, column, kind, strength, _ = edge.child
        wanted = {"row": row, "column": column, "type": kind, "coupling": edge.coupling, "activation": strength}
        assert entry == wanted
    for entry, route in zip(told["routes"], strongest_routes(tree, 2, 4), strict=True):
        assert (entry["flow"], entry["couplings"]) == (route.flow, list(route.couplings))
        assert entry["capsules"][0] == dict(zip(("row", "column", "type"), route.nodes[0][1:4], strict=True))


@pytest.mark.parametrize(("shares", "uniform"), [((False, True), 1 / 3), ((True, False), None)])
def test_whether_classes_share_is_asked_of_the_last_layer(shares, uniform):
    tree = by_hand([[0.5, 0.5], [1.0, 0.0]], [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], shares=shares)
    assert describe(tree, 0)["uniform"] == uniform
