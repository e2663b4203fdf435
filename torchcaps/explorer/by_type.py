"""A parse type by type, every iteration of its routing at once: what `explain.summarise` gives, fast enough to follow
a slider."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from einops import rearrange, reduce
from jaxtyping import Float
from torch import Tensor

from torchcaps.explain import Structure, Tree
from torchcaps.explorer.numbers import numbers
from torchcaps.types import Parse


def layers(tree: Tree) -> list[dict[str, Any]]:
    """Every layer with the mean strength of each of its types, and whether all capsules of a type are dead."""
    return [
        {
            "name": layer.name,
            "grid": list(layer.grid),
            "types": layer.types,
            "measure": layer.measure,
            "strength": numbers(reduce(strength, "h w n -> n", "mean")),
            "dead": rearrange(dead, "h w n -> (h w) n").all(0).tolist(),
        }
        for layer, strength, dead in zip(tree.structure.layers, tree.strength, tree.dead, strict=True)
    ]


def links(structure: Structure, parse: Parse) -> list[list[list[list[float]]]]:
    """For each iteration and link the mean coupling between types, of the first image; one that has stopped stays.

    Args:
        parse: recorded with "all".
    """
    histories = [[s.coupling[0] for s in states if s.coupling is not None] for states in parse.history]
    most = max(map(len, histories), default=0)
    found = [_means(structure, k, held(couplings, most)) for k, couplings in enumerate(histories)]
    return [[[numbers(row) for row in link[t]] for link in found] for t in range(most)]


def held(states: Sequence[Tensor], most: int) -> Float[Tensor, "t h w i j"]:
    """The couplings of all iterations, the last one repeated until there are so many."""
    return torch.stack([states[min(t, len(states) - 1)] for t in range(most)])


def _means(structure: Structure, link: int, couplings: Float[Tensor, "t h w i j"]) -> Float[Tensor, "t n j"]:
    n = structure.layers[link].types
    total = reduce(couplings.detach().cpu().double(), "t h w (k n) j -> t n j", "sum", n=n)
    return total / _seen(structure, link)


@cache
def _seen(structure: Structure, link: int) -> Float[Tensor, "n 1"]:
    """In how many windows each type is seen; padding is not counted."""
    there = (structure.children(link) >= 0).double()
    return reduce(there, "h w (k n) -> n 1", "sum", n=structure.layers[link].types)
