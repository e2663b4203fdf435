"""How a network of capsules understood an image: the parse as a tree with places."""

from torchcaps.explain.describe import describe
from torchcaps.explain.routes import Route, strongest_edges, strongest_routes
from torchcaps.explain.structure import Layer, Link, Structure
from torchcaps.explain.tree import Edge, Node, Tree, grow, parse_trees

__all__ = [
    "Edge",
    "Layer",
    "Link",
    "Node",
    "Route",
    "Structure",
    "Tree",
    "describe",
    "grow",
    "parse_trees",
    "strongest_edges",
    "strongest_routes",
]
