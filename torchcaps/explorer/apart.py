"""How much two parses differ, as one number between 0 and 1."""

from typing import Any

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps.explain import Tree, difference, summarise


def changed_by(one: Tree, other: Tree) -> float | None:
    """How much two trees of one network differ; None where couplings are no shares of a child, or there are none."""
    try:
        return difference(one, other).value
    except ValueError:
        return None


def apart(one: Tree, other: Tree) -> dict[str, Any] | None:
    """How much two networks' trees of one image differ; None where that has no meaning.

    Networks with the same layers are compared edge by edge (`explain.difference`), any others by what arrives: the
    total variation between the shares of their classes in what the primary capsules give.
    """
    if not (one.couplings and other.couplings) or one.structure.classes != other.structure.classes:
        return None
    if one.structure == other.structure:
        edges = changed_by(one, other)
        return None if edges is None else {"value": round(edges, 5), "by": "edges"}
    moved = (arrivals(one) - arrivals(other)).abs().sum() / 2
    return {"value": round(float(moved.nan_to_num()), 5), "by": "arrivals"}


def arrivals(tree: Tree) -> Float[Tensor, " classes"]:
    """Of what all primary capsules give, the share that arrives at each class along the couplings, type by type.

    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> [tree] = parse_trees(create_model("mitterreiter2023/capsnet", width=0.25), torch.rand(1, 1, 40, 40))
    >>> shares = arrivals(tree)
    >>> tuple(shares.shape), round(float(shares.sum()), 6)
    ((10,), 1.0)
    """
    small = summarise(tree)
    given = small.strength[0].flatten().abs()
    for coupling in small.couplings:
        rows = rearrange(coupling.abs(), "1 1 i j -> i j")
        rows = rows / rows.sum(-1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny)
        given = given @ rows
    return given / given.sum().clamp_min(torch.finfo(given.dtype).tiny)
