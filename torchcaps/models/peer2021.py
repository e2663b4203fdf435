"""Limitation of Capsule Networks (Peer, Stabinger, Rodríguez-Sánchez 2021): networks with and without a bias."""

from functools import partial
from typing import Literal

from torch import nn

from torchcaps.functional import identity
from torchcaps.layers import ActivationHead, CapsuleLayer, PrimaryCapsules
from torchcaps.network import CapsNet
from torchcaps.routing import EM, Dynamic, RoutingFactory


def sign(routing: Literal["dynamic", "em"] = "dynamic", *, bias: bool = False) -> CapsNet:
    """The network of figure 1, 1 → 20 → 2 capsules of one dimension, which is to tell positive numbers from negative.

    A bias goes where section 4 puts it: onto s_j for dynamic routing, onto every vote for EM. Weights start from
    N(0, 0.5), biases at 0.5.

    >>> net = sign("dynamic", bias=True)
    >>> sum(p.numel() for p in net.parameters())
    82
    """
    factories: dict[str, RoutingFactory] = {
        "dynamic": partial(Dynamic, bias=bias, bias_init=0.5),
        "em": partial(EM, output="length"),
    }
    if routing not in factories:
        raise ValueError(f"routing={routing!r} is not allowed: choose one of {', '.join(map(repr, factories))}")

    def layer(below: CapsuleLayer | PrimaryCapsules, n: int) -> CapsuleLayer:
        vote_bias = bias and routing == "em"
        return CapsuleLayer(below.shape_out, n, init_std=0.5, vote_bias=vote_bias, routing=factories[routing])

    primary = PrimaryCapsules((1, 1, 1), n=1, d=1, kernel=None, squash=identity)
    hidden = layer(primary, 20)
    top = layer(hidden, 2)
    return CapsNet(nn.Identity(), primary, [hidden, top], ActivationHead(top.shape_out))
