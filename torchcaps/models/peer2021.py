"""Limitation of Capsule Networks (Peer, Stabinger, Rodríguez-Sánchez 2021): networks with and without a bias.

Trained with Adam at 1e-4, batches of 256 and the margin loss; the sign network with Adam at 5e-3 and λ = 1. Weights
start from N(0, 0.1), biases at 0.1; in the sign network from N(0, 0.5) and at 0.5. Convolutions start as the authors'
do (He, then Glorot), which makes primary capsules long: with the short ones of torch's own start, EM's parents, whose
logits grow with the length of their children, all stay at 1/2 and the margin loss then silences the children.
"""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from torchcaps.functional import identity, squash
from torchcaps.layers import CapsuleLayer, PrimaryCapsules
from torchcaps.losses import MarginLoss
from torchcaps.models._assemble import RoutingChoice, Size, assemble, choose_routing, image_shape, widen
from torchcaps.models._backbones import Backbone, choose_backbone, convolutions
from torchcaps.network import CapsNet
from torchcaps.routing import EM, Dynamic, RoutingFactory
from torchcaps.types import CapsShape

BIAS_ON_SUM = ("dynamic",)


def _layer(below: CapsShape, n: int, d: int, *, routing: RoutingChoice, bias: bool, std: float) -> CapsuleLayer:
    """A layer whose bias goes where section 4 puts it: onto s_j for dynamic routing, onto the votes for others."""
    own: dict[str, RoutingFactory] = {
        "dynamic": partial(Dynamic, bias=bias, bias_init=std),
        "em": partial(EM, output="length"),
    }
    return CapsuleLayer(
        below,
        n,
        d,
        vote_bias=bias and routing not in BIAS_ON_SUM,
        init_std=std if isinstance(routing, str) and routing in own else None,
        routing=choose_routing(routing, own),
    )


def deep(
    *,
    num_classes: int = 10,
    in_chans: int = 1,
    image_size: Size = 28,
    width: float = 1.0,
    depth: int = 5,
    bias: bool = False,
    relu: bool = False,
    backbone: Backbone = None,
    routing: RoutingChoice = "dynamic",
    loss: str = "margin",
) -> CapsNet:
    """CapsNet with hidden layers of 16 capsules of 12 between primary and class capsules (section 5.3).

    Args:
        depth: capsule layers in all, primary and class capsules included.
        bias: with or without the paper's remedy.
        relu: whether primary capsules pass a ReLU, as section 1 says of CapsNet, instead of keeping their signs.
    """
    if depth < 2:
        raise ValueError(f"depth={depth} is not allowed: primary and class capsules make 2 at least")
    layer = partial(_layer, routing=routing, bias=bias, std=0.1)
    hidden = partial(layer, n=widen(16, width), d=12)
    first = convolutions(in_chans, [(widen(256, width), 9, 1)])
    _start(first[0], partial(nn.init.kaiming_normal_, nonlinearity="relu"))
    net = assemble(
        choose_backbone(backbone, first, in_chans, width),
        image_shape(in_chans, image_size),
        partial(PrimaryCapsules, n=widen(32, width), d=8, kernel=9, stride=2, squash=_relu_squash if relu else squash),
        [*[hidden] * (depth - 2), partial(layer, n=num_classes, d=16)],
        loss=loss,
    )
    _start(net.primary.conv, nn.init.xavier_uniform_)
    return net


def _start(conv: nn.Module | None, weights: Callable[[Tensor], Tensor]) -> None:
    if not isinstance(conv, nn.Conv2d) or conv.bias is None:
        raise TypeError(f"{conv} is not allowed: a convolution with a bias is needed")
    weights(conv.weight)
    nn.init.zeros_(conv.bias)


def _relu_squash(s: Tensor) -> Tensor:
    return squash(s.relu())


def sign(
    *,
    num_classes: int = 2,
    in_chans: int = 1,
    image_size: Size = 1,
    width: float = 1.0,
    bias: bool = False,
    backbone: Backbone = None,
    routing: RoutingChoice = "dynamic",
) -> CapsNet:
    """The network of figure 1, 1 → 20 → 2 capsules of one dimension, which is to tell positive numbers from negative.

    Without convolutions: every number of the image is a capsule.

    >>> net = sign(bias=True)
    >>> sum(p.numel() for p in net.parameters())
    82
    """
    layer = partial(_layer, d=1, routing=routing, bias=bias, std=0.5)
    model = assemble(
        choose_backbone(backbone, nn.Identity(), in_chans, width),
        image_shape(in_chans, image_size),
        _as_it_is,
        [partial(layer, n=widen(20, width)), partial(layer, n=num_classes)],
    )
    if isinstance(model.loss, MarginLoss):
        model.loss = MarginLoss(down_weight=1.0)
    return model


def _as_it_is(features: tuple[int, int, int]) -> PrimaryCapsules:
    return PrimaryCapsules(features, n=features[0], d=1, kernel=None, squash=identity)
