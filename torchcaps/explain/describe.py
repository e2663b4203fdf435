"""A tree in a few entries that JSON can hold: the strongest capsules of each layer, edges and routes of a class."""

from typing import Any

import torch

from torchcaps.explain.routes import strongest_edges, strongest_routes
from torchcaps.explain.tree import Node, Tree

Entry = dict[str, Any]


def describe(tree: Tree, label: int, count: int = 5) -> Entry:
    """The strongest capsules of each layer, from the primary ones up, and what leads most to a class.

    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> [tree] = parse_trees(create_model("sabour2017/capsnet", width=0.25), torch.rand(1, 1, 28, 28))
    >>> told = describe(tree, label=7)
    >>> list(told), [layer["layer"] for layer in told["layers"]]
    (['layers', 'couplings', 'uniform', 'routes'], ['primary', 'classes'])

    Args:
        label: the class whose edges and routes are told.
        count: how many capsules, edges and routes.
    """
    layers = [
        {
            "layer": layer.name,
            "grid": list(layer.grid),
            "types": layer.types,
            "most_active": [_entry(tree, node) for node in _strongest(tree, depth, count)],
        }
        for depth, layer in enumerate(tree.structure.layers)
    ]
    couplings = [
        {**_at(tree, edge.child), "coupling": edge.coupling, **_strength(tree, edge.child)}
        for edge in strongest_edges(tree, label, count)
    ]
    routes = [
        {"flow": route.flow, "couplings": list(route.couplings), "capsules": [_at(tree, node) for node in route.nodes]}
        for route in strongest_routes(tree, label, count)
    ]
    return {"layers": layers, "couplings": couplings, "uniform": _uniform(tree), "routes": routes}


def _uniform(tree: Tree) -> float | None:
    """What every coupling into a class would be if all classes were alike; None where children do not compete."""
    links = tree.structure.links
    return 1 / len(tree.structure.classes) if links and links[-1].shares else None


def _strongest(tree: Tree, layer: int, count: int) -> list[Node]:
    strength = tree.strength[layer]
    at = strength.flatten().sort(descending=True, stable=True).indices[:count]
    places = torch.stack(torch.unravel_index(at, strength.shape), -1).tolist()
    return [tree.node(layer, place) for place in places]


def _entry(tree: Tree, node: Node) -> Entry:
    return {**_at(tree, node), **_strength(tree, node)}


def _strength(tree: Tree, node: Node) -> Entry:
    return {tree.structure.layers[node.layer].measure: node.strength}


def _at(tree: Tree, node: Node) -> Entry:
    """Where a capsule is; a class needs no place."""
    if node.layer == len(tree.structure.layers) - 1:
        return {"class": tree.structure.label(node.layer, node.type)}
    return {"row": node.row, "column": node.column, "type": node.type}
