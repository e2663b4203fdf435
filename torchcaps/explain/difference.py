"""How much the trees of two images differ: how much of what children give goes elsewhere."""

from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps.explain.tree import Tree


@dataclass(frozen=True)
class Difference:
    """From 0, all children go the same ways, to 1, none does.

    Attributes:
        value: the mean over the links where it is defined.
        links: for each link its own; None where couplings are not shares, or no child is active.
    """

    value: float
    links: tuple[float | None, ...]


def difference(first: Tree, second: Tree) -> Difference:
    """Total variation between coupling rows, weighted by the children's activation, mean over links.

    A child's row are its couplings to all the parents it reaches, as shares of their sum; ½ Σ_j |c_ij − c'_ij| of it
    goes elsewhere. A child counts with the mean of its two activations, or all alike where they have none.

    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> net = create_model("mitterreiter2023/capsnet", width=0.25)
    >>> one, two = parse_trees(net, torch.rand(2, 1, 40, 40))
    >>> difference(one, one).value, 0 < difference(one, two).value < 1
    (0.0, True)
    """
    structure = first.structure
    if (structure.layers, structure.links) != (second.structure.layers, second.structure.links):
        raise ValueError("the trees are of different networks: their layers cannot be compared one by one")
    if not structure.links:
        raise ValueError("a network without capsules has no trees to compare")
    found: list[float | None] = []
    for k, link in enumerate(structure.links):
        if not link.shares:
            found.append(None)
            continue
        one, two = (_rows(tree, k) for tree in (first, second))
        moved = (one - two).abs().sum(-1) / 2
        weight = one.sum(-1)  # 1, or 0 for a child that no parent sees
        if structure.layers[k].measure == "activation":
            weight = weight * (first.strength[k] + second.strength[k]) / 2
        total = float(weight.sum())
        found.append(float((weight * moved).sum()) / total if total > 0 else None)
    defined = [value for value in found if value is not None]
    if not defined:
        raise ValueError("the couplings of this network are not shares of a child, or nothing is active: no difference")
    return Difference(sum(defined) / len(defined), tuple(found))


def _rows(tree: Tree, link: int) -> Float[Tensor, "h w n parents"]:
    """For each child its couplings to every parent it reaches, as shares of their sum."""
    given = tree.structure.windows(link).by_child(tree.couplings[link][None])
    rows = rearrange(given, "1 h w n p j -> h w n (p j)")
    return rows / rows.sum(-1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny)
