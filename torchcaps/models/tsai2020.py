"""Capsules with Inverted Dot-Product Attention Routing (Tsai, Srivastava, Goh, Salakhutdinov 2020).

Inverted attention with matrix capsules under concurrent routing, the dynamic and EM networks it is compared with, and
the convolutional baselines. Trained for 350 epochs, the rate divided by ten at 150 and 250: SGD at 0.1 (momentum 0.9,
weight decay 5e-4) for inverted attention and the baselines, Adam at 1e-3 for dynamic and at 1e-2 for EM routing.
"""

from functools import partial

from torch import nn

from torchcaps.functional import identity
from torchcaps.layers import ActivationHead, CapsuleLayer, LinearHead, PrimaryCapsules
from torchcaps.layers.capsule import Compat, Competition
from torchcaps.losses import make_loss
from torchcaps.models._assemble import (
    RoutingChoice,
    RoutingOptions,
    Size,
    assemble,
    choose_routing,
    feature_shape,
    image_shape,
    widen,
)
from torchcaps.models._backbones import Backbone, choose_backbone, convolutions, resnet18, tsai_resnet
from torchcaps.network import CapsNet, ConvNet
from torchcaps.routing import EM, Dynamic, InvertedAttention, RoutingFactory
from torchcaps.schedule import Schedule, concurrent, sequential

MANY_CLASSES = 50  # from here on the network is that of CIFAR-100


def _schedule(concurrently: bool, iters: int) -> Schedule:  # noqa: FBT001
    return partial(concurrent, iters=iters) if concurrently else sequential


def inverted(
    *,
    num_classes: int = 10,
    in_chans: int = 3,
    image_size: Size = 32,
    width: float = 1.0,
    conv_width: float = 1.0,
    side: int | None = None,
    iters: int = 2,
    backbone: Backbone = None,
    routing: RoutingChoice = "inverted_attention",
    routing_options: RoutingOptions = None,
    init_std: float | None = None,
    norm: bool = True,
    activations: bool = False,
    concurrently: bool = True,
    compat: Compat = "none",
    loss: str = "ce",
) -> CapsNet:
    """Two convolutional and one or two fully connected capsule layers of matrix capsules (tables 8 and 9).

    Args:
        side: of a pose matrix; 4 as for CIFAR-10, 6 with a layer of 20 capsules more as for CIFAR-100; by the number of
            classes if not given.
        iters: routing iterations.
        backbone: one convolution, "tsai_resnet", or a module.
        norm, activations, concurrently: without the first, with the second, without the third: ablations A, C and B.
        compat: "apple" for the mixed-up poses of the released code.
    """
    large = num_classes >= MANY_CLASSES if side is None else side > 4
    side = (6 if large else 4) if side is None else side
    d, types, narrow = side * side, widen(32, width), width * conv_width
    inverted = partial(InvertedAttention, iters=iters, norm=norm, activations=activations)
    chosen = choose_routing(routing, {"inverted_attention": inverted}, routing_options)
    own = partial(convolutions, in_chans, [(widen(128 if large else 256, narrow), 3, 2)], padding=1)
    layer = partial(CapsuleLayer, rows=side, init_std=init_std, routing=chosen, compat=compat)
    middle = [partial(layer, n=widen(20, width))] if large else []
    return assemble(
        choose_backbone(backbone, own, in_chans, narrow),
        image_shape(in_chans, image_size),
        partial(PrimaryCapsules, n=widen(32, narrow), d=d, bias=False, norm=True, squash=identity, activation="one"),
        [
            partial(layer, n=types, window=3, stride=2),
            partial(layer, n=types, window=3),
            *middle,
            partial(layer, n=num_classes),
        ],
        head=LinearHead,
        schedule=_schedule(concurrently, iters),
        loss=loss,
    )


def dynamic(
    *,
    num_classes: int = 10,
    in_chans: int = 3,
    image_size: Size = 32,
    width: float = 1.0,
    conv_width: float = 1.0,
    iters: int = 3,
    deep: bool = False,
    backbone: Backbone = None,
    routing: RoutingChoice = "dynamic",
    routing_options: RoutingOptions = None,
    init_std: float | None = None,
    loss: str = "margin",
) -> CapsNet:
    """CapsNet for CIFAR (tables 4 and 5): 9×9 convolutions, 2048 capsules of 8, class capsules of 16, no decoder.

    Args:
        deep: whether a residual backbone with a stage of 256 takes the place of the first convolution and the stride.
    """
    narrow = width * conv_width
    residual = partial(tsai_resnet, in_chans, narrow, last=256)
    own = residual if deep else partial(convolutions, in_chans, [(widen(256, narrow), 9, 1)])
    chosen = choose_routing(routing, {"dynamic": partial(Dynamic, iters=iters)}, routing_options)
    return assemble(
        choose_backbone(backbone, own, in_chans, narrow),
        image_shape(in_chans, image_size),
        partial(PrimaryCapsules, n=widen(32, narrow), d=8, kernel=9, stride=1 if deep else 2),
        [partial(CapsuleLayer, n=num_classes, d=16, init_std=init_std, routing=chosen)],
        loss=loss,
    )


def em(
    *,
    num_classes: int = 10,
    in_chans: int = 3,
    image_size: Size = 32,
    width: float = 1.0,
    conv_width: float = 1.0,
    iters: int = 2,
    backbone: Backbone = None,
    routing: RoutingChoice = "em",
    routing_options: RoutingOptions = None,
    init_std: float | None = None,
    competition: Competition = "window",
    loss: str = "spread",
) -> CapsNet:
    """Matrix capsules with EM routing (tables 6 and 7); the last layer shares its maps over positions.

    Args:
        competition: where a child's parents compete. "window", the default, shares a child out anew in each window it
            is in; "grid" shares it once among all the parents it reaches, as Hinton et al. 2018 do.
    """
    types, narrow = widen(32, width), width * conv_width

    def own() -> nn.Module:
        channels = widen(256, narrow)
        return nn.Sequential(nn.Conv2d(in_chans, channels, 4, 2, 1), nn.BatchNorm2d(channels), nn.ReLU())

    chosen = choose_routing(routing, {"em": partial(EM, iters=iters)}, routing_options)
    layer = partial(CapsuleLayer, rows=4, competition=competition, init_std=init_std, routing=chosen)
    return assemble(
        choose_backbone(backbone, own, in_chans, narrow),
        image_shape(in_chans, image_size),
        partial(PrimaryCapsules, n=widen(32, narrow), d=16, squash=identity, activation="learned"),
        [
            partial(layer, n=types, window=3, stride=2),
            partial(layer, n=types, window=3),
            partial(layer, n=num_classes, share="position"),
        ],
        head=ActivationHead,
        loss=loss,
    )


def cnn_simple(
    *,
    num_classes: int = 10,
    in_chans: int = 3,
    image_size: Size = 32,
    width: float = 1.0,
    conv_width: float = 1.0,
    loss: str = "ce",
) -> ConvNet:
    """The baseline CNN of tables 2 and 3: three convolutions of 1024 with average pooling between."""
    c = widen(1024, width * conv_width)
    body = nn.Sequential(
        nn.Conv2d(in_chans, c, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(c, c, 3, 2, 1),
        nn.ReLU(),
        nn.BatchNorm2d(c),
        nn.AvgPool2d(2),
        nn.Conv2d(c, c, 3, 2, 1),
        nn.ReLU(),
        nn.BatchNorm2d(c),
        nn.AdaptiveAvgPool2d(1),
    )
    feature_shape(body, image_shape(in_chans, image_size))
    return ConvNet(nn.Sequential(body, nn.Flatten(), nn.Linear(c, num_classes)), loss=make_loss(loss))


def resnet(
    *,
    num_classes: int = 10,
    in_chans: int = 3,
    image_size: Size = 32,
    width: float = 1.0,
    conv_width: float = 1.0,
    loss: str = "ce",
) -> ConvNet:
    """The CIFAR ResNet-18 (He et al. 2016)."""
    features = resnet18(in_chans, width * conv_width)
    c, _, _ = feature_shape(features, image_shape(in_chans, image_size))
    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return ConvNet(nn.Sequential(features, *pool, nn.Linear(c, num_classes)), loss=make_loss(loss))


def diverse(
    *,
    num_classes: int = 10,
    in_chans: int = 1,
    image_size: Size = 36,
    width: float = 1.0,
    conv_width: float = 1.0,
    rows: int = 8,
    types: int = 16,
    primary_types: int | None = None,
    iters: int = 2,
    squashed: bool = False,
    backbone: Backbone = None,
    routing: RoutingChoice = "inverted_attention",
    routing_options: RoutingOptions = None,
    init_std: float | None = None,
    loss: str = "bce",
) -> CapsNet:
    """The capsule networks for DiverseMultiMNIST (tables 10 and 11): 64-D poses, one convolutional and one full layer.

    Args:
        rows: 8 for matrix poses, 1 for vectors.
        types: of capsules; 16 in the tables.
        primary_types: of primary capsules, if they are to be others.
        squashed: whether capsules are squashed and routed layer by layer, as for dynamic routing, instead of normalised
            and routed concurrently.
    """
    n, narrow = widen(types, width), width * conv_width
    routings: dict[str, RoutingFactory] = {
        "inverted_attention": partial(InvertedAttention, iters=iters),
        "dynamic": Dynamic,
    }
    chosen = choose_routing(routing, routings, routing_options)
    layer = partial(CapsuleLayer, rows=rows, init_std=init_std, routing=chosen)
    own = partial(convolutions, in_chans, [(widen(1024, narrow), 3, 2)], padding=1)
    first = partial(PrimaryCapsules, n=widen(primary_types or types, narrow), d=64, kernel=3, stride=2, bias=False)
    return assemble(
        choose_backbone(backbone, own, in_chans, narrow),
        image_shape(in_chans, image_size),
        first if squashed else partial(first, norm=True, squash=identity, activation="one"),
        [partial(layer, n=n, window=3), partial(layer, n=num_classes)],
        head=ActivationHead if squashed else LinearHead,
        schedule=_schedule(not squashed, iters),
        loss=loss,
    )


def diverse_cnn(
    *,
    num_classes: int = 10,
    in_chans: int = 1,
    image_size: Size = 36,
    width: float = 1.0,
    conv_width: float = 1.0,
    pool: bool = True,
    units: int = 640,
    loss: str = "bce",
) -> ConvNet:
    """The baseline CNN for DiverseMultiMNIST (table 12).

    Args:
        pool: a linear layer at each position and their average, or one linear layer over the whole map.
        units: of that linear layer.
    """
    c, units = widen(1024, width * conv_width), widen(units, width)
    convs = nn.Sequential(
        nn.Conv2d(in_chans, c, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(c, c, 3, 2),
        nn.ReLU(),
        nn.BatchNorm2d(c),
        nn.Conv2d(c, c, 3),
        nn.ReLU(),
        nn.BatchNorm2d(c),
    )
    _, h, w = feature_shape(convs, image_shape(in_chans, image_size))
    reduce = [nn.Conv2d(c, units, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()] if pool else [nn.Flatten()]
    last = [] if pool else [nn.Linear(c * h * w, units)]
    return ConvNet(nn.Sequential(convs, *reduce, *last, nn.Linear(units, num_classes)), loss=make_loss(loss))
