"""Limitation of Capsule Networks (Peer, Stabinger, Rodríguez-Sánchez 2021): networks with and without a bias.

Trained with Adam at 1e-4, batches of 256 and the margin loss; the sign network with Adam at 5e-3 and λ = 1. Weights
start from N(0, 0.1), biases at 0.1; in the sign network from N(0, 0.5) and at 0.5.

The paper does not say how convolutions start. The authors' repository has Glorot for both in the version whose other
constants are the paper's, later He for the first, and He for both in the end. Ours is He, then Glorot, because EM
learns with it: primary capsules begin 0.6 long (0.7 with He for both). With torch's own start they are 0.1 long; EM's
parents, whose logits grow with the length of their children, all stay at 1/2 and the margin loss then silences the
children. With Glorot for both they are 0.007 long, 0.06 on images standardised one by one, as the authors' are. Their
training also has an unmasked decoder of weight 0.0005 and draws EM's β from N(0, 0.1). Their way in all this is
`standardise=True, start="glorot", reconstruction="plain", squash_eps=1e-8` and, for EM,
`routing_options={"beta_std": 0.1, "unit_eps": 1e-8}`.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

from torch import Tensor, nn

from torchcaps.functional import identity, squash
from torchcaps.layers import CapsuleLayer, PrimaryCapsules
from torchcaps.losses import MarginLoss
from torchcaps.models._assemble import (
    Reconstruction,
    RoutingChoice,
    RoutingOptions,
    Size,
    assemble,
    choose_routing,
    image_shape,
    widen,
)
from torchcaps.models._backbones import Backbone, choose_backbone, convolutions
from torchcaps.network import CapsNet
from torchcaps.routing import EM, Dynamic, RoutingFactory
from torchcaps.types import CapsShape

Fill = Callable[[Tensor], Tensor]
BIAS_ON_SUM = ("dynamic",)

Start = Literal["he_glorot", "glorot", "he"]
_he, _glorot = partial(nn.init.kaiming_normal_, nonlinearity="relu"), nn.init.xavier_uniform_
STARTS: dict[Start, tuple[Fill, Fill]] = {"he_glorot": (_he, _glorot), "glorot": (_glorot, _glorot), "he": (_he, _he)}


def _layer(
    below: CapsShape,
    n: int,
    d: int,
    *,
    routing: RoutingChoice,
    options: RoutingOptions,
    bias: bool,
    std: float,
    init_std: float | None,
    squash_eps: float = 0.0,
) -> CapsuleLayer:
    """A layer whose bias goes where section 4 puts it: onto s_j for dynamic routing, onto the votes for others.

    It starts with the deviation `std` of the paper where the paper has the routing, unless another is asked for.
    """
    std = std if init_std is None else init_std
    own: dict[str, RoutingFactory] = {
        "dynamic": partial(Dynamic, bias=bias, bias_init=std, squash=partial(squash, eps=squash_eps)),
        "em": partial(EM, output="length"),
    }
    return CapsuleLayer(
        below,
        n,
        d,
        vote_bias=bias and routing not in BIAS_ON_SUM,
        init_std=std if routing in own else init_std,
        routing=choose_routing(routing, own, options),
    )


def deep(
    *,
    num_classes: int = 10,
    in_chans: int = 1,
    image_size: Size = 28,
    width: float = 1.0,
    conv_width: float = 1.0,
    depth: int = 5,
    bias: bool = False,
    relu: bool = False,
    start: Start = "he_glorot",
    squash_eps: float = 0.0,
    backbone: Backbone = None,
    routing: RoutingChoice = "dynamic",
    routing_options: RoutingOptions = None,
    init_std: float | None = None,
    reconstruction: Reconstruction = "none",
    loss: str = "margin",
) -> CapsNet:
    """CapsNet with hidden layers of 16 capsules of 12 between primary and class capsules (section 5.3).

    Args:
        depth: capsule layers in all, primary and class capsules included.
        bias: with or without the paper's remedy.
        relu: whether primary capsules pass a ReLU, as section 1 says of CapsNet, instead of keeping their signs.
        start: of the convolution below the primary capsules and of theirs: "he_glorot", "glorot" or "he".
        squash_eps: an epsilon in the squash of the authors' code, 1e-8: without a bias the outputs of five layers then
            begin at 4e-8 instead of 1e-18.
        reconstruction: from all class capsules ("plain", as the authors'), from that of the labelled class, or none.
    """
    if depth < 2:
        raise ValueError(f"depth={depth} is not allowed: primary and class capsules make 2 at least")
    if start not in STARTS:
        raise ValueError(f"start={start!r} is not allowed: choose one of {', '.join(map(repr, STARTS))}")
    below, above = STARTS[start]
    layer = partial(
        _layer,
        routing=routing,
        options=routing_options,
        bias=bias,
        std=0.1,
        init_std=init_std,
        squash_eps=squash_eps,
    )
    hidden = partial(layer, n=widen(16, width), d=12)
    g = partial(_relu_squash if relu else squash, eps=squash_eps)
    narrow = width * conv_width

    def own() -> nn.Module:
        first = convolutions(in_chans, [(widen(256, narrow), 9, 1)])
        _start(first[0], below)
        return first

    net = assemble(
        choose_backbone(backbone, own, in_chans, narrow),
        image_shape(in_chans, image_size),
        partial(PrimaryCapsules, n=widen(32, narrow), d=8, kernel=9, stride=2, squash=g),
        [*[hidden] * (depth - 2), partial(layer, n=num_classes, d=16)],
        reconstruction=reconstruction,
        loss=loss,
    )
    _start(net.primary.conv, above)
    return net


def _start(conv: nn.Module | None, weights: Fill) -> None:
    if not isinstance(conv, nn.Conv2d) or conv.bias is None:
        raise TypeError(f"{conv} is not allowed: a convolution with a bias is needed")
    weights(conv.weight)
    nn.init.zeros_(conv.bias)


def _relu_squash(s: Tensor, eps: float = 0.0) -> Tensor:
    return squash(s.relu(), eps)


def sign(
    *,
    num_classes: int = 2,
    in_chans: int = 1,
    image_size: Size = 1,
    width: float = 1.0,
    conv_width: float = 1.0,
    bias: bool = False,
    backbone: Backbone = None,
    routing: RoutingChoice = "dynamic",
    routing_options: RoutingOptions = None,
    init_std: float | None = None,
) -> CapsNet:
    """The network of figure 1, 1 → 20 → 2 capsules of one dimension, which is to tell positive numbers from negative.

    Without convolutions, so that `conv_width` finds nothing to narrow: every number of the image is a capsule.

    >>> net = sign(bias=True)
    >>> sum(p.numel() for p in net.parameters())
    82
    """
    layer = partial(_layer, d=1, routing=routing, options=routing_options, bias=bias, std=0.5, init_std=init_std)
    model = assemble(
        choose_backbone(backbone, nn.Identity, in_chans, width * conv_width),
        image_shape(in_chans, image_size),
        _as_it_is,
        [partial(layer, n=widen(20, width)), partial(layer, n=num_classes)],
    )
    if isinstance(model.loss, MarginLoss):
        model.loss = MarginLoss(down_weight=1.0)
    return model


def _as_it_is(features: tuple[int, int, int]) -> PrimaryCapsules:
    return PrimaryCapsules(features, n=features[0], d=1, kernel=None, squash=identity)
