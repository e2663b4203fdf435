"""Eight routings, one algorithm a file; `ROUTINGS` names them for models and commands."""

from torchcaps.routing._base import Routing, RoutingFactory
from torchcaps.routing.dynamic import Dynamic
from torchcaps.routing.em import EM
from torchcaps.routing.inverted_attention import InvertedAttention
from torchcaps.routing.self_attention import SelfAttention
from torchcaps.routing.self_routing import SelfRouting
from torchcaps.routing.trainable import Trainable
from torchcaps.routing.uniform import Uniform
from torchcaps.routing.variational import Variational

ROUTINGS: dict[str, RoutingFactory] = {
    "uniform": Uniform,
    "trainable": Trainable,
    "dynamic": Dynamic,
    "em": EM,
    "inverted_attention": InvertedAttention,
    "self_routing": SelfRouting,
    "variational": Variational,
    "self_attention": SelfAttention,
}


def register_routing(name: str, factory: RoutingFactory) -> None:
    """Name a routing of one's own, so that models take it by name, and are saved, loaded and trained again with it.

    Whoever loads such a network registers the routing first, under the same name.

    >>> register_routing("mine", Uniform)
    >>> ROUTINGS.pop("mine") is Uniform  # and forgotten again
    True

    Args:
        factory: from a `RoutingShape` to a routing: a class, or a `functools.partial` of one.
    """
    if not name.isidentifier():
        raise ValueError(f"name={name!r} is not allowed: letters, digits and underscores are")
    if not callable(factory):
        raise ValueError(f"factory={factory!r} is not allowed: a class of Routing, or a partial of one, is needed")
    if ROUTINGS.get(name, factory) is not factory:
        raise ValueError(f"name={name!r} is not allowed: there is a routing of that name")
    ROUTINGS[name] = factory


__all__ = [
    "EM",
    "ROUTINGS",
    "Dynamic",
    "InvertedAttention",
    "Routing",
    "RoutingFactory",
    "SelfAttention",
    "SelfRouting",
    "Trainable",
    "Uniform",
    "Variational",
    "register_routing",
]
