"""How a network of capsules understood an image: the parse as a tree with places, drawn, compared, made smaller."""

from torchcaps.explain.couplings import Into, figure_of_couplings, into_class
from torchcaps.explain.describe import describe
from torchcaps.explain.difference import Difference, difference
from torchcaps.explain.draw import draw_bars, draw_edges, figure_of_trees
from torchcaps.explain.layout import Layout, arrange
from torchcaps.explain.routes import Route, strongest_edges, strongest_routes
from torchcaps.explain.structure import Layer, Link, Structure
from torchcaps.explain.summary import summarise
from torchcaps.explain.tree import Edge, Node, Tree, grow, parse_trees

__all__ = [
    "Difference",
    "Edge",
    "Into",
    "Layer",
    "Layout",
    "Link",
    "Node",
    "Route",
    "Structure",
    "Tree",
    "arrange",
    "describe",
    "difference",
    "draw_bars",
    "draw_edges",
    "figure_of_couplings",
    "figure_of_trees",
    "grow",
    "into_class",
    "parse_trees",
    "strongest_edges",
    "strongest_routes",
    "summarise",
]
