"""The parse of an image as a tree: capsules are nodes, couplings are fuzzy edges (mitterreiter2023, section 3.4)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from torchcaps.explain.structure import Structure
from torchcaps.functional import length
from torchcaps.infer import infer
from torchcaps.network import Model
from torchcaps.types import Capsules, Parse

DEAD, FORMAT = 0.01, 1


class Node(NamedTuple):
    """A capsule: its layer from 0 up, its place and type, how strong it is, and whether it is dead."""

    layer: int
    row: int
    column: int
    type: int
    strength: float
    dead: bool


class Edge(NamedTuple):
    """A child, one of the parents it can reach in the layer above, and how much of the child goes there."""

    child: Node
    parent: Node
    coupling: float


@dataclass(frozen=True, eq=False)
class Tree:
    """One image as a network of capsules understood it, in double precision.

    Attributes:
        structure: layers and links, the same for every image.
        strength: for each layer how strong its capsules (h w n) are; `structure.layers[k].measure` says in what sense.
        dead: for each layer which capsules (h w n) are dead: those whose activation is small, on average and always.
            For one image that is an activation of at most ε. A capsule without an activation is never dead.
        couplings: for each link the couplings (h w i j) of the last iteration, those of padding zero.
    """

    structure: Structure
    strength: tuple[Tensor, ...]
    dead: tuple[Tensor, ...]
    couplings: tuple[Tensor, ...]

    def __eq__(self, other: object) -> bool:
        """Whether both are the same to the last bit."""
        if not isinstance(other, Tree):
            return NotImplemented
        pairs = zip(self._tensors, other._tensors, strict=False)
        same = (a.shape == b.shape and bool(((a == b) | (a.isnan() & b.isnan())).all()) for a, b in pairs)
        return self.structure == other.structure and all(same)

    __hash__ = None  # type: ignore[assignment]  # its tensors could change

    @property
    def _tensors(self) -> tuple[Tensor, ...]:
        return (*self.strength, *self.dead, *self.couplings)

    def node(self, layer: int, place: Sequence[int]) -> Node:
        """The capsule of a layer at (row, column, type)."""
        row, column, kind = at = tuple(place)
        return Node(layer, row, column, kind, float(self.strength[layer][at]), bool(self.dead[layer][at]))

    def nodes(self) -> Iterator[Node]:
        """Every capsule, layer by layer."""
        for layer in range(len(self.strength)):
            yield from self.level(layer)

    def level(self, layer: int) -> list[Node]:
        """The capsules of a layer, rows first and types last."""
        strength, dead = self.strength[layer], self.dead[layer]
        places = torch.cartesian_prod(*map(torch.arange, strength.shape)).tolist()
        told = zip(places, strength.flatten().tolist(), dead.flatten().tolist(), strict=True)
        return [Node(layer, row, column, kind, s, d) for (row, column, kind), s, d in told]

    def edges(self) -> Iterator[Edge]:
        """Every edge, link by link; children of padding have none."""
        for link, coupling in enumerate(self.couplings):
            below, above = self.level(link), self.level(link + 1)
            _, _, window, types = coupling.shape
            children = self.structure.children(link).flatten().tolist()
            for at, row in enumerate(rearrange(coupling, "h w i j -> (h w i) j").tolist()):
                parents = above[at // window * types :][:types]
                if children[at] >= 0:
                    yield from (Edge(below[children[at]], up, c) for up, c in zip(parents, row, strict=True))

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it, for a file or a page; what is not a number becomes null."""
        lists = {name: [_listed(t) for t in getattr(self, name)] for name in ("strength", "dead", "couplings")}
        return {"format": FORMAT, "structure": self.structure.to_json(), **lists}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Tree":
        """The tree that `to_json` gave, to the last bit."""
        if stored.get("format") != FORMAT:
            raise ValueError(f"format={stored.get('format')!r} is not a tree's: this version reads {FORMAT}")
        structure = Structure.from_json(stored["structure"])
        nodes = [(*layer.grid, layer.types) for layer in structure.layers]
        edges = [(*structure.places(k).shape[:3], above[2]) for k, above in enumerate(nodes[1:])]
        return cls(
            structure,
            _tensors(stored, "strength", nodes, torch.double),
            _tensors(stored, "dead", nodes, torch.bool),
            _tensors(stored, "couplings", edges, torch.double),
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Records that pydantic reads and writes may hold trees."""
        from pydantic_core import core_schema

        write = core_schema.plain_serializer_function_ser_schema(cls.to_json)
        return core_schema.no_info_plain_validator_function(cls.from_json, serialization=write)


def parse_trees(
    model: Model, images: Float[Tensor, "b c h w"], classes: Sequence[str] | None = None, *, eps: float = DEAD
) -> list[Tree]:
    """The tree of each image.

    >>> from torchcaps.models import create_model
    >>> [tree] = parse_trees(create_model("mitterreiter2023/capsnet", width=0.25), torch.rand(1, 1, 40, 40))
    >>> len(list(tree.nodes())), len(list(tree.edges()))
    (26, 88)

    Args:
        classes: their names; numbers if not given.
        eps: the activation up to which a capsule counts as dead.
    """
    return grow(Structure.of(model, classes), infer(model, images, record="last"), eps=eps)


def grow(structure: Structure, parse: Parse, *, eps: float = DEAD) -> list[Tree]:
    """The trees of a parse that was recorded with "last" or "all".

    >>> from torchcaps.models import create_model
    >>> net = create_model("mitterreiter2023/capsnet", width=0.25)
    >>> [tree] = grow(Structure.of(net), net(torch.rand(1, 1, 40, 40), record="last"))
    >>> len(tree.level(0))
    4
    """
    if len(parse.couplings) != len(structure.links):
        raise ValueError(f"the parse has {len(parse.couplings)} couplings, not {len(structure.links)}: record='last'")
    strengths = strength(structure, parse.capsules) if structure.layers else ()
    couplings = [c.detach().double().cpu() for c in parse.couplings]
    kinds = [layer.measure for layer in structure.layers]
    return [
        Tree(
            structure,
            own := tuple(s[b] for s in strengths),
            tuple((s <= eps) & (kind == "activation") for s, kind in zip(own, kinds, strict=True)),
            tuple(c[b] for c in couplings),
        )
        for b in range(len(parse.scores))
    ]


def strength(structure: Structure, capsules: Sequence[Capsules]) -> tuple[Tensor, ...]:
    """For each layer how strong its capsules (b h w n) are, in the sense that the structure says."""
    pairs = zip(capsules, structure.layers, strict=True)
    found = (each.act if layer.measure == "activation" else length(each.pose.double()) for each, layer in pairs)
    return tuple(s.detach().double().cpu() for s in found)


def _listed(values: Tensor) -> list[float | bool | None]:
    flat: list[float | bool] = values.flatten().tolist()
    return [v if math.isfinite(v) else None for v in flat]


def _tensors(
    stored: Mapping[str, Any], name: str, shapes: Sequence[tuple[int, ...]], dtype: torch.dtype
) -> tuple[Tensor, ...]:
    lists = [[math.nan if v is None else v for v in values] for values in stored[name]]
    found, wanted = [len(values) for values in lists], [math.prod(shape) for shape in shapes]
    if found != wanted:
        raise ValueError(f"{name} has {found} numbers a layer, but the structure wants {wanted}")
    return tuple(torch.tensor(v, dtype=dtype).reshape(shape) for v, shape in zip(lists, shapes, strict=True))
