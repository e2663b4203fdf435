"""Where the nodes of a tree are drawn, and how dark its edges: the same for matplotlib, a report and a page."""

from dataclasses import dataclass

import torch

from torchcaps.explain.summary import is_large, summarise
from torchcaps.explain.tree import Node, Tree

FAINTEST = 0.02  # what is lighter is not drawn


@dataclass(frozen=True)
class Dot:
    """A capsule at depth x and place y, both from 0 to 1; y counts from the first capsule of a layer."""

    layer: int
    x: float
    y: float
    label: str
    strength: float
    dead: bool


@dataclass(frozen=True)
class Line:
    """An edge between two dots, by their numbers, and its darkness from 0 to 1."""

    child: int
    parent: int
    darkness: float


@dataclass(frozen=True)
class Layout:
    """All there is to draw.

    Attributes:
        names: for each layer its name and, where it is drawn as types, over how many positions.
        full: the coupling that is drawn darkest.
        bar: the strength whose bar is longest.
    """

    names: tuple[str, ...]
    dots: tuple[Dot, ...]
    lines: tuple[Line, ...]
    full: float
    bar: float


def arrange(tree: Tree, *, full: float | None = None) -> Layout:
    """Layers side by side, the capsules of each one below the other; a tree with a large layer as its types.

    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> [tree] = parse_trees(create_model("sabour2017/capsnet"), torch.rand(1, 1, 28, 28))
    >>> arrange(tree).names
    ('primary, 36 positions', 'classes')

    Args:
        full: the coupling that is drawn darkest. If not given: 1 where couplings are shares; else the largest, or four
            times the mean if that is more, so that couplings that are all alike look faint.
    """
    if not tree.structure.layers:
        raise ValueError("a network without capsules has no tree to draw")
    if is_large(tree.structure):
        tree = summarise(tree)
    full = _full(tree) if full is None else full
    nodes = list(tree.nodes())
    dots, number = [_dot(tree, node) for node in nodes], {node: k for k, node in enumerate(nodes)}
    lines = [
        Line(number[edge.child], number[edge.parent], darkness)
        for edge in tree.edges()
        if (darkness := min(1.0, abs(edge.coupling) / (full or 1.0))) >= FAINTEST
    ]
    lines.sort(key=lambda line: line.darkness)  # the darkest on top
    longest = max(1.0, max(dot.strength for dot in dots))
    return Layout(tuple(layer.name for layer in tree.structure.layers), tuple(dots), tuple(lines), full, longest)


def _full(tree: Tree) -> float:
    if all(link.shares for link in tree.structure.links):
        return 1.0
    sizes = torch.cat([coupling.abs().flatten() for coupling in tree.couplings])
    return max(float(sizes.max()), 4 * float(sizes.mean()))


def _dot(tree: Tree, node: Node) -> Dot:
    layers = tree.structure.layers
    layer = layers[node.layer]
    (h, w), last = layer.grid, len(layers) - 1
    at = (node.row * w + node.column) * layer.types + node.type
    place = f"{node.row}·{node.column}·" if h * w > 1 else ""
    label = place + tree.structure.label(node.layer, node.type)
    return Dot(node.layer, node.layer / last, (at + 0.5) / (h * w * layer.types), label, node.strength, node.dead)
