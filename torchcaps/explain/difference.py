"""How much the trees of two images differ: how much of what children give goes elsewhere."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
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
        children, count = structure.children(k), first.strength[k].numel()
        rows = [_shares(children, tree.couplings[k], count) for tree in (first, second)]
        moved = _by_child(children, (rows[0] - rows[1]).abs().sum(-1), count) / 2
        activation = structure.layers[k].measure == "activation"
        weight = (first.strength[k] + second.strength[k]).flatten() / 2 if activation else torch.ones_like(moved)
        weight = weight * (_by_child(children, torch.ones_like(children).double(), count) > 0)  # a parent is in reach
        total = float(weight.sum())
        found.append(float((weight * moved).sum()) / total if total > 0 else None)
    defined = [value for value in found if value is not None]
    if not defined:
        raise ValueError("the couplings of this network are not shares of a child, or nothing is active: no difference")
    return Difference(sum(defined) / len(defined), tuple(found))


def _by_child(children: Int[Tensor, "h w i"], values: Float[Tensor, "h w i"], count: int) -> Float[Tensor, " n"]:
    """The sum of values over the windows in which a child lies."""
    kept = children >= 0
    return values.new_zeros(count).index_add(0, children[kept], values[kept])


def _shares(children: Int[Tensor, "h w i"], coupling: Float[Tensor, "h w i j"], count: int) -> Float[Tensor, "h w i j"]:
    """Couplings as shares of all that their child gives."""
    total = _by_child(children, coupling.sum(-1), count)
    return coupling / total[children.clamp_min(0)][..., None].clamp_min(torch.finfo(total.dtype).tiny)
