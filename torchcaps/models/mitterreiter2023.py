"""Why Capsule Neural Networks Do Not Scale (Mitterreiter, Koch, Giesen, Laue 2023): a family of deep CapsNets.

The appendix with the backbone is not public; ours is a small stack of convolutions with batch norm, whose last layer
looks at the whole map once for each number of the primary capsules.
"""

from functools import partial

from torch import nn

from torchcaps.backbones import Trunk
from torchcaps.functional import squash_exp
from torchcaps.layers import CapsuleLayer, Convolution, PrimaryCapsules
from torchcaps.models._assemble import (
    Reconstruction,
    RoutingChoice,
    RoutingOptions,
    Size,
    assemble,
    choose_routing,
    feature_shape,
    image_shape,
    widen,
)
from torchcaps.models._backbones import Backbone, choose_backbone
from torchcaps.network import CapsNet
from torchcaps.routing import Dynamic, RoutingFactory, Uniform


def capsnet(
    *,
    num_classes: int = 10,
    in_chans: int = 1,
    image_size: Size = 40,
    width: float = 1.0,
    conv_width: float = 1.0,
    layers: int = 5,
    capsules: int = 16,
    dim: int = 8,
    backbone: Backbone = None,
    routing: RoutingChoice = "dynamic",
    routing_options: RoutingOptions = None,
    init_std: float | None = None,
    reconstruction: Reconstruction = "conditional",
    loss: str = "margin",
) -> CapsNet:
    """Capsule layers of equal size up to the class capsules (section 3.2), learned priors, squash (1 − e^−‖u‖).

    Args:
        conv_width: narrows all convolutions but the last, which has a channel for each number of the primary capsules.
            Here these are a layer like the others, and stay.
        layers: capsule layers in all, primary and class capsules included.
        capsules: in each layer but the last.
        dim: of every capsule.
        routing: "dynamic" (routing by agreement), or "uniform" coupling, c = 1/parents.
    """
    if layers < 2:
        raise ValueError(f"layers={layers} is not allowed: primary and class capsules make 2 at least")
    own: dict[str, RoutingFactory] = {
        "dynamic": partial(Dynamic, squash=squash_exp, prior=True),
        "uniform": partial(Uniform, over="parents", squash=squash_exp),
    }
    chosen = choose_routing(routing, own, routing_options)
    n, narrow = widen(capsules, width), width * conv_width
    image = image_shape(in_chans, image_size)
    convs = choose_backbone(backbone, partial(_convolutions, in_chans, narrow, n * dim), in_chans, narrow)
    c, h, w = feature_shape(convs, image)
    first = partial(PrimaryCapsules, n=n, d=dim, squash=squash_exp)
    if isinstance(convs, Trunk):  # stays apart from what is above it, so that its features can be kept
        first = partial(first, kernel=(h, w))
    else:
        last = Convolution(c, n * dim, (h, w), groups=c if c == n * dim else 1)
        convs, first = nn.Sequential(convs, last), partial(first, kernel=None)
    layer = partial(CapsuleLayer, d=dim, init_std=init_std, routing=chosen)
    return assemble(
        convs,
        image,
        first,
        [*[partial(layer, n=n)] * (layers - 2), partial(layer, n=num_classes)],
        reconstruction=reconstruction,
        loss=loss,
    )


def _convolutions(in_chans: int, width: float, last: int) -> nn.Sequential:
    """5×5-32, 3×3-64, 3×3-64 and 3×3-`last` with stride 2, each with ReLU and batch norm."""
    modules: list[nn.Module] = []
    middle = widen(64, width)
    for channels, kernel, stride in ((widen(32, width), 5, 1), (middle, 3, 1), (middle, 3, 1), (last, 3, 2)):
        modules += [Convolution(in_chans, channels, kernel, stride), nn.ReLU(), nn.BatchNorm2d(channels)]
        in_chans = channels
    return nn.Sequential(*modules)
