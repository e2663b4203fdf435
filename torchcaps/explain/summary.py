"""A smaller tree in place of a large one: types over all positions, or positions over all types."""

from dataclasses import replace
from typing import Literal

from einops import rearrange, reduce
from jaxtyping import Bool, Float
from torch import Tensor

from torchcaps.explain.structure import Layer, Link, Structure
from torchcaps.explain.tree import Tree

By = Literal["type", "position"]
MOST = 64  # capsules in a layer of a tree that is drawn or kept as it is


def summarise(tree: Tree, by: By = "type") -> Tree:
    """One node in place of many: the mean of their strengths, dead if all are, and between nodes the mean edge.

    By type every layer becomes 1×1: what a type does wherever it lies. By position every layer but the classes becomes
    a single type: what a place does, whatever is there. The couplings of a summary are no longer shares of a child.

    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> [tree] = parse_trees(create_model("sabour2017/capsnet"), torch.rand(1, 1, 28, 28))
    >>> [[tuple(s.shape) for s in t.strength] for t in (tree, summarise(tree), summarise(tree, "position"))]
    [[(6, 6, 32), (1, 1, 10)], [(1, 1, 32), (1, 1, 10)], [(6, 6, 1), (1, 1, 10)]]
    """
    if by not in ("type", "position"):
        raise ValueError(f"by={by!r} is not allowed: choose 'type' or 'position'")
    top = len(tree.structure.layers) - 1
    layers, links = tree.structure.layers, tree.structure.links
    return Tree(
        Structure(
            tuple(_layer(layer, by, top=k == top) for k, layer in enumerate(layers)),
            tuple(replace(link, shares=False) if by == "position" else Link((1, 1), shares=False) for link in links),
            tree.structure.classes,
        ),
        tuple(_nodes(s, by, "mean", top=k == top) for k, s in enumerate(tree.strength)),
        tuple(_nodes(d.double(), by, "min", top=k == top).bool() for k, d in enumerate(tree.dead)),
        tuple(_edges(tree, k, by, top=k + 1 == top) for k in range(top)),
    )


def is_large(structure: Structure) -> bool:
    """Whether a layer has more capsules than can be told apart in a picture."""
    return any(layer.grid[0] * layer.grid[1] * layer.types > MOST for layer in structure.layers)


def _layer(layer: Layer, by: By, *, top: bool) -> Layer:
    """The layer that is left, and in its name how many capsules each of its nodes stands for."""
    positions = layer.grid[0] * layer.grid[1]
    if by == "type":
        return replace(layer, grid=(1, 1), name=f"{layer.name}, {positions} positions" if positions > 1 else layer.name)
    if top or layer.types == 1:
        return layer
    return replace(layer, types=1, name=f"{layer.name}, {layer.types} types")


def _nodes(values: Float[Tensor, "h w n"], by: By, how: str, *, top: bool) -> Float[Tensor, "h2 w2 n2"]:
    if by == "type":
        return reduce(values, "h w n -> 1 1 n", how)
    return values if top else reduce(values, "h w n -> h w 1", how)


def _edges(tree: Tree, link: int, by: By, *, top: bool) -> Float[Tensor, "h2 w2 i2 j2"]:
    """The mean over the edges there are: those of padding are not counted."""
    coupling, n = tree.couplings[link], tree.structure.layers[link].types
    there: Bool[Tensor, "h w i"] = tree.structure.children(link) >= 0
    if by == "type":
        total = reduce(coupling, "h w (k n) j -> 1 1 n j", "sum", n=n)
        return total / reduce(there.to(total), "h w (k n) -> 1 1 n 1", "sum", n=n)
    if not top:
        coupling = reduce(coupling, "h w i j -> h w i 1", "mean")
    places = rearrange(coupling, "h w (k n) j -> h w k n j", n=n)
    return reduce(places, "h w k n j -> h w k j", "mean")
