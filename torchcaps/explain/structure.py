"""What the trees of all images share: the layers of capsules, and who can reach whom."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, cast

import torch
from jaxtyping import Int
from torch import Tensor

from torchcaps.functional import identity
from torchcaps.layers import CapsuleLayer, PrimaryCapsules
from torchcaps.network import CapsNet, Model
from torchcaps.routing import Routing
from torchcaps.windows import Windows

Measure = Literal["activation", "length"]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Layer:
    """A layer of capsules: `types` of them at each position of a grid.

    Attributes:
        name: "primary", "hidden 1" and so on, "classes".
        measure: what tells how strong a capsule is: its activation, or the length of its pose where that is all there
            is: the routing gives every capsule activation 1, or the poses are not squashed.
    """

    name: str
    grid: Pair
    types: int
    measure: Measure = "activation"


@dataclass(frozen=True)
class Link:
    """How a layer is reached from the one below, as `torchcaps.windows.Windows` states it.

    Attributes:
        shares: whether a child shares itself out, so that its couplings in a window (or over the grid) sum to one, and
            are that child's (tsai2020's released code mixes up positions, see `CapsuleLayer`'s `compat`).
    """

    window: Pair
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    shares: bool = True


@dataclass(frozen=True)
class Structure:
    """The layers from the primary capsules up to the classes, the links between them, and the classes' names.

    A network without capsules has no layers.

    >>> from torchcaps.models import create_model
    >>> structure = Structure.of(create_model("sabour2017/capsnet", width=0.25))
    >>> [(layer.name, layer.grid, layer.types) for layer in structure.layers]
    [('primary', (6, 6), 8), ('classes', (1, 1), 10)]
    """

    layers: tuple[Layer, ...]
    links: tuple[Link, ...]
    classes: tuple[str, ...]

    @classmethod
    def of(cls, model: Model, classes: Sequence[str] | None = None) -> "Structure":
        """The structure of a network; without names its classes are numbered."""
        if not isinstance(model, CapsNet):
            return cls((), (), ())
        first = model.primary
        layers, links = [Layer("primary", first.shape_out.grid, first.shape_out.n, _measure(first))], list[Link]()
        for depth, above in enumerate(cast("Sequence[CapsuleLayer]", model.layers), 1):
            name = "classes" if depth == len(model.layers) else f"hidden {depth}"
            layers.append(Layer(name, above.shape_out.grid, above.shape_out.n, _measure(above.routing)))
            over, mixed = above.windows, above.compat == "apple" and above.shape_out.grid != (1, 1)
            links.append(Link(over.window, over.stride, over.padding, above.routing.competes and not mixed))
        names = tuple(map(str, range(layers[-1].types))) if classes is None else tuple(classes)
        if len(names) != layers[-1].types:
            raise ValueError(f"the network tells {layers[-1].types} classes, but {len(names)} names are given: {names}")
        return cls(tuple(layers), tuple(links), names)

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Structure":
        """What `to_json` gave."""
        layers = (Layer(**{**one, "grid": tuple(one["grid"])}) for one in stored["layers"])
        pairs = ("window", "stride", "padding")
        links = (Link(**{**one, **{name: tuple(one[name]) for name in pairs}}) for one in stored["links"])
        return cls(tuple(layers), tuple(links), tuple(stored["classes"]))

    def windows(self, link: int) -> Windows:
        """The windows through which the layer above sees the one below."""
        below, how = self.layers[link], self.links[link]
        return _windows(below.grid, below.types, how.window, how.stride, how.padding)

    def places(self, link: int) -> Int[Tensor, "h w i 3"]:
        """Row, column and type of each child in the window of each parent position; −1 for padding."""
        return self.windows(link).places

    def children(self, link: int) -> Int[Tensor, "h w i"]:
        """The same children by their number in their layer, rows first and types last; −1 for padding."""
        row, column, kind = self.places(link).unbind(-1)
        below = self.layers[link]
        return torch.where(row < 0, -1, (row * below.grid[1] + column) * below.types + kind)

    def label(self, layer: int, kind: int) -> str:
        """What a type of capsule is called: a class by its name, any other by its number."""
        return self.classes[kind] if layer == len(self.layers) - 1 else str(kind)


def _measure(gives: PrimaryCapsules | Routing) -> Measure:
    """What tells how strong the capsules are that a part of the network gives."""
    own = gives.activation != "one" if isinstance(gives, PrimaryCapsules) else gives.activates
    learned = isinstance(gives, PrimaryCapsules) and gives.activation == "learned"
    unsquashed = getattr(gives, "squash", None) is identity and not learned
    return "activation" if own and not unsquashed else "length"


@cache
def _windows(grid: Pair, types: int, window: Pair, stride: Pair, padding: Pair) -> Windows:
    return Windows(grid, types, window=window, stride=stride, padding=padding)
