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

ROUTINGS: dict[str, type[Routing]] = {
    "uniform": Uniform,
    "trainable": Trainable,
    "dynamic": Dynamic,
    "em": EM,
    "inverted_attention": InvertedAttention,
    "self_routing": SelfRouting,
    "variational": Variational,
    "self_attention": SelfAttention,
}

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
]
