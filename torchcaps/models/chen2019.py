"""Generalized Capsule Networks with Trainable Routing Procedure (Chen, Wang, Zhao, Crandall 2019).

Couplings are parameters, and the squash is (1 − e^−‖s‖) s/‖s‖ throughout. The equations are the paper's; the released
code differs from them in its mask, its squash's gradient and its convolution's gradient.
"""

from functools import partial

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from torchcaps.backbones import Trunk
from torchcaps.functional import squash_exp
from torchcaps.layers import CapsuleLayer, PrimaryCapsules
from torchcaps.losses import make_loss
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
from torchcaps.models._backbones import Backbone, choose_backbone, convolutions
from torchcaps.network import CapsNet, ConvNet
from torchcaps.routing import Dynamic, RoutingFactory, Trainable, Uniform
from torchcaps.types import RoutingShape

_OWN: dict[str, RoutingFactory] = {
    "trainable": Trainable,
    "dynamic": partial(Dynamic, squash=squash_exp),
    "uniform": partial(Uniform, squash=squash_exp),
}


def gcaps(
    *,
    num_classes: int = 10,
    in_chans: int = 1,
    image_size: Size = 28,
    width: float = 1.0,
    conv_width: float = 1.0,
    channels: int = 256,
    d: int = 16,
    rows: int = 1,
    backbone: Backbone = None,
    routing: RoutingChoice = "trainable",
    routing_options: RoutingOptions = None,
    init_std: float | None = None,
    reconstruction: Reconstruction = "conditional",
    loss: str = "margin",
) -> CapsNet:
    """G-CapsNet on two convolutions (section 4.1), fully connected; convolutional is a window as large as the grid.

    Args:
        channels: of the first convolution.
        d, rows: of the class capsules; the convolutional version sees 8-D capsules as 2×4 matrices.
    """
    narrow = width * conv_width
    chosen = choose_routing(routing, _OWN, routing_options)
    return assemble(
        choose_backbone(backbone, partial(convolutions, in_chans, [(widen(channels, narrow), 9, 1)]), in_chans, narrow),
        image_shape(in_chans, image_size),
        partial(PrimaryCapsules, n=widen(32, narrow), d=8, kernel=9, stride=2, squash=squash_exp),
        [partial(CapsuleLayer, n=num_classes, d=d, rows=rows, init_std=init_std, routing=chosen)],
        reconstruction=reconstruction,
        loss=loss,
    )


def relu_squash(s: Float[Tensor, "*s d"]) -> Float[Tensor, "*s d"]:
    """The ReLU and the squash that follow each capsule layer of the multi-layer network (supplement 6.1).

    >>> relu_squash(torch.tensor([-1.0, 0.0]))
    tensor([0., 0.])
    """
    return squash_exp(s.relu())


class CoarseTrainable(Trainable):
    """Trainable couplings for a 3×3 raster of a larger window: offset k of a side of K takes row ⌊3k/K⌋ of the raster.

    The supplement prints 3·3·16 coefficients for a position of "Conv Caps Routing#1" although the window before it is
    4×4; so its 16 offsets share nine coefficients.
    """

    def __init__(self, shape: RoutingShape, *, side: int, raster: int = 3) -> None:
        types = shape.i // side**2
        super().__init__(shape._replace(i=raster**2 * types), per_position=True, squash=relu_squash)
        self.shape = shape
        self.side, self.raster = side, raster

    def coefficients(self) -> Float[Tensor, "h w i j 1"]:
        """The nine coefficients of a position, spread over the window."""
        at = torch.arange(self.side, device=self.c.device) * self.raster // self.side
        c = rearrange(self.c, "h w (k l n) j d -> h w k l n j d", k=self.raster, l=self.raster)
        return rearrange(c[:, :, at][:, :, :, at], "h w k l n j d -> h w (k l n) j d")


def multi_gcaps(
    *,
    num_classes: int = 10,
    in_chans: int = 3,
    image_size: Size = 32,
    width: float = 1.0,
    conv_width: float = 1.0,
    backbone: Backbone = None,
    routing: RoutingChoice = "trainable",
    routing_options: RoutingOptions = None,
    init_std: float | None = None,
    loss: str = "margin",
) -> CapsNet:
    """The multi-layer G-CapsNet of the supplement's table: two convolutions without bias, three capsule layers.

    8-D capsules meet 8×8 maps in a 4×4 window, then 2×2 maps as 4×2 matrices in a 3×3 window, then 8×8 maps all over;
    coefficients are learned for each position, and in the last layer for each dimension.
    """

    def pick(own: RoutingFactory) -> RoutingFactory:
        return choose_routing(routing, {**_OWN, "trainable": own}, routing_options)

    narrow = width * conv_width
    own = partial(convolutions, in_chans, [(widen(64, narrow), 7, 1)], bias=False)
    local = partial(Trainable, per_position=True, squash=relu_squash)
    last = partial(Trainable, per_dim=True, squash=relu_squash)
    layer = partial(CapsuleLayer, init_std=init_std)
    few, many = widen(8, width), widen(16, width)
    features, image = choose_backbone(backbone, own, in_chans, narrow), image_shape(in_chans, image_size)
    side = min(4, *feature_shape(features, image)[1:]) if isinstance(features, Trunk) else 4
    return assemble(
        features,
        image,
        partial(PrimaryCapsules, n=widen(16, narrow), d=8, kernel=7, stride=2, bias=False, squash=squash_exp),
        [
            partial(layer, n=few, window=side, routing=pick(partial(CoarseTrainable, side=side))),
            partial(layer, n=many, rows=4, window=3, stride=2, routing=pick(local)),
            partial(layer, n=num_classes, routing=pick(last)),
        ],
        loss=loss,
    )


def cnn_cifar(
    *,
    num_classes: int = 10,
    in_chans: int = 3,
    image_size: Size = 32,
    width: float = 1.0,
    conv_width: float = 1.0,
    loss: str = "ce",
) -> ConvNet:
    """The CIFAR-10 baseline: the capsule network's two convolutions, then layers of 512 and 10 (section 4.1.3)."""
    convs = convolutions(in_chans, [(widen(64, width * conv_width), 9, 1), (widen(256, width * conv_width), 9, 2)])
    c, h, w = feature_shape(convs, image_shape(in_chans, image_size))
    units = widen(512, width)
    head = [nn.Flatten(), nn.Linear(c * h * w, units), nn.ReLU(), nn.Linear(units, num_classes)]
    return ConvNet(nn.Sequential(*convs, *head), loss=make_loss(loss))


def lenet(
    *,
    num_classes: int = 10,
    in_chans: int = 1,
    image_size: Size = 28,
    width: float = 1.0,
    conv_width: float = 1.0,
    loss: str = "ce",
) -> ConvNet:
    """LeNet-5, the substitute through which the black-box attack of section 4.3 looks."""
    first, second = widen(6, width * conv_width), widen(16, width * conv_width)
    convs = nn.Sequential(
        nn.Conv2d(in_chans, first, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(first, second, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )
    c, h, w = feature_shape(convs, image_shape(in_chans, image_size))
    a, b = widen(120, width), widen(84, width)
    head = [nn.Flatten(), nn.Linear(c * h * w, a), nn.ReLU(), nn.Linear(a, b), nn.ReLU(), nn.Linear(b, num_classes)]
    return ConvNet(nn.Sequential(*convs, *head), loss=make_loss(loss))
