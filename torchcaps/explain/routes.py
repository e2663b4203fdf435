"""The strongest edges into a capsule, and the strongest ways from the primary capsules up to a class."""

from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor

from torchcaps.explain.structure import Structure
from torchcaps.explain.tree import Edge, Node, Tree


@dataclass(frozen=True)
class Route:
    """A way up the tree: one capsule in each layer, and how much goes that way.

    Attributes:
        flow: the activation of the first capsule times every coupling on the way, sizes without signs: the probability
            of this branch where couplings are read as those of a grammar (mitterreiter2023, section 3.4). Where
            capsules have no activation, the couplings alone.
    """

    nodes: tuple[Node, ...]
    couplings: tuple[float, ...]
    flow: float


def strongest_edges(tree: Tree, label: int, count: int = 5) -> list[Edge]:
    """The largest couplings into a class capsule, the first of equal ones first.

    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> [tree] = parse_trees(create_model("sabour2017/capsnet", width=0.25), torch.rand(1, 1, 28, 28))
    >>> len(strongest_edges(tree, label=7, count=3))
    3
    """
    if not tree.couplings:
        return []
    link = len(tree.couplings) - 1
    into = tree.couplings[link][0, 0, :, label]
    into = into.masked_fill(tree.structure.children(link)[0, 0] < 0, -torch.inf)
    values, at = into.sort(descending=True, stable=True)
    places = tree.structure.places(link)[0, 0, at[:count]].tolist()
    top = tree.node(link + 1, (0, 0, label))
    pairs = zip(places, values[:count].tolist(), strict=True)
    return [Edge(tree.node(link, place), top, value) for place, value in pairs if place[0] >= 0]


def strongest_routes(tree: Tree, label: int, count: int = 5) -> list[Route]:
    """The ways of largest flow from a primary capsule to a class capsule, exactly.

    Layer by layer each capsule keeps the best `count` ways that lead to it (Viterbi's recursion).

    >>> from torchcaps.explain import parse_trees
    >>> from torchcaps.models import create_model
    >>> [tree] = parse_trees(create_model("mitterreiter2023/capsnet", width=0.25), torch.rand(1, 1, 40, 40))
    >>> [len(route.nodes) for route in strongest_routes(tree, label=7, count=2)]
    [5, 5]
    """
    if not tree.couplings:
        return []
    first = tree.strength[0] if tree.structure.layers[0].measure == "activation" else torch.ones_like(tree.strength[0])
    flow, steps = rearrange(first, "h w n -> (h w n) 1"), list[Tensor]()
    for link, coupling in enumerate(tree.couplings):
        flow, came = _step(tree.structure.children(link), coupling.abs(), flow, count)
        steps.append(came)
    return [_trace(tree, steps, label, rank) for rank in range(count) if flow[label, rank] >= 0]


def _step(
    children: Int[Tensor, "h w i"], coupling: Float[Tensor, "h w i j"], flow: Float[Tensor, "below k"], count: int
) -> tuple[Float[Tensor, "above count"], Int[Tensor, "above count 2"]]:
    """For each parent its best ways, a negative flow where there are fewer, and where each came from.

    That is the place of the child in the parent's window, and which of the child's ways it was.
    """
    k = flow.shape[1]
    reached = flow[children.clamp_min(0)].masked_fill((children < 0)[..., None], -1.0)
    here = torch.where(reached[..., None, :] < 0, -1.0, reached[..., None, :] * coupling[..., None])
    ways = rearrange(here, "h w i j k -> (h w j) (i k)")
    short = max(0, count - ways.shape[1])
    ways = torch.cat([ways, ways.new_full((len(ways), short), -1.0)], 1)
    best, at = ways.topk(count)
    return best, torch.stack([at // k, at % k], -1)


def _trace(tree: Tree, steps: list[Tensor], label: int, rank: int) -> Route:
    """Follow a way down from its class."""
    structure: Structure = tree.structure
    place = (0, 0, label)
    nodes, couplings = [tree.node(len(steps), place)], list[float]()
    for link in reversed(range(len(steps))):
        coupling, (row, column, kind) = tree.couplings[link], place
        _, width, _, types = coupling.shape
        child, rank = steps[link][(row * width + column) * types + kind, rank].tolist()
        couplings.append(float(coupling[row, column, child, kind]))
        place = tuple(structure.places(link)[row, column, child].tolist())
        nodes.append(tree.node(link, place))
    flow = 1.0 if structure.layers[0].measure == "length" else nodes[-1].strength
    for coupling_ in couplings:
        flow *= abs(coupling_)
    return Route(tuple(reversed(nodes)), tuple(reversed(couplings)), flow)
