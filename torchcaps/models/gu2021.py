"""Capsule Network is Not More Robust than Convolutional Network (Gu, Tresp, Hu 2021).

Capsule networks whose five components are arguments, and the convolutional networks they are compared with. Trained
with Adam at 1e-3, batches of 128, and 0.0005 times the sum of an image's squared pixel errors.
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal

from einops import rearrange
from torch import Tensor, nn

from torchcaps.functional import Squash, identity, length, squash
from torchcaps.layers import CapsuleLayer, DenseDecoder, PrimaryCapsules
from torchcaps.layers.capsule import Share
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
from torchcaps.network import CapsNet, ConvNet, Model
from torchcaps.routing import Dynamic, RoutingFactory, Uniform
from torchcaps.types import CapsShape, Capsules, Parse, Record, check_record

Grouping = Literal["sum", "length", "linear"]


def capsnet(
    *,
    num_classes: int = 10,
    in_chans: int = 1,
    image_size: Size = 40,
    width: float = 1.0,
    conv_width: float = 1.0,
    kernel: int = 9,
    backbone: Backbone = None,
    routing: RoutingChoice = "dynamic",
    routing_options: RoutingOptions = None,
    init_std: float | None = None,
    share: Share = "none",
    squash: bool = True,
    reconstruction: Reconstruction = "conditional",
    loss: str = "margin",
) -> CapsNet:
    """CapsNet and its ablations (section 2; tables 2 and 4): primary capsules of 8, class capsules of 16, a decoder.

    Args:
        kernel: of both convolutions (table 3).
        routing: "uniform" averages the votes (section 3.1); "dynamic" takes 3 iterations.
        share: "all" for one map shared by all children (Aff-CapsNet).
        squash: without it both squashes go.
        reconstruction: from the labelled class's capsule, from all, or none.
        loss: "margin", "ce" or "bce".
    """
    g = _squash(squash)
    image = image_shape(in_chans, image_size)
    narrow = width * conv_width
    own = partial(convolutions, in_chans, [(widen(256, narrow), kernel, 1)])
    squashed: dict[str, RoutingFactory] = {"dynamic": partial(Dynamic, squash=g), "uniform": partial(Uniform, squash=g)}
    chosen = choose_routing(routing, squashed, routing_options)
    return assemble(
        choose_backbone(backbone, own, in_chans, narrow),
        image,
        partial(PrimaryCapsules, n=widen(32, narrow), d=8, kernel=kernel, stride=2, squash=g),
        [partial(CapsuleLayer, n=num_classes, d=16, share=share, init_std=init_std, routing=chosen)],
        reconstruction=reconstruction,
        loss=loss,
    )


def _squash(on: bool) -> Squash:  # noqa: FBT001
    return squash if on else identity


def convnet_fc(
    *,
    num_classes: int = 10,
    in_chans: int = 1,
    image_size: Size = 40,
    width: float = 1.0,
    conv_width: float = 1.0,
    kernel: int = 5,
    units: Sequence[int] = (328, 192),
    loss: str = "ce",
) -> ConvNet:
    """ConvNet-FC: three convolutions and two fully connected layers (section 3), the baseline of Sabour et al. 2017.

    Args:
        units: of the two fully connected layers; `match_parameters` finds those that give a number of parameters.
    """
    if len(units) != 2:
        raise ValueError(f"units={units!r} is not allowed: give two numbers, one for each fully connected layer")
    channels = [widen(c, width * conv_width) for c in (256, 256, 128)]
    convs = convolutions(in_chans, [(c, kernel, 1) for c in channels])
    c, h, w = feature_shape(convs, image_shape(in_chans, image_size))
    first, second = (widen(u, width) for u in units)
    head = [nn.Flatten(), nn.Linear(c * h * w, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU()]
    return ConvNet(nn.Sequential(*convs, *head, nn.Linear(second, num_classes)), loss=make_loss(loss))


def convnet_avg(
    *,
    num_classes: int = 10,
    in_chans: int = 1,
    image_size: Size = 40,
    width: float = 1.0,
    conv_width: float = 1.0,
    kernel: int = 9,
    loss: str = "ce",
) -> ConvNet:
    """ConvNet-Avg: CapsNet's two convolutions, a global average and a linear layer (section 3.1)."""
    channels = widen(256, width * conv_width)
    convs = convolutions(in_chans, [(channels, kernel, 1), (channels, kernel, 2)])
    feature_shape(convs, image_shape(in_chans, image_size))
    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return ConvNet(nn.Sequential(*convs, *pool, nn.Linear(channels, num_classes)), loss=make_loss(loss))


class GroupedConvNet(Model):
    """A convolutional network whose last units are grouped by class, for a decoder to draw from (section 3.3).

    Args:
        grouping: "sum" makes a class's logit the sum of its group, "length" the group's length after a squash of
            primaries and groups, "linear" a linear function of all units.
    """

    def __init__(
        self,
        convs: nn.Module,
        image: tuple[int, int, int],
        classes: CapsShape,
        *,
        grouping: Grouping,
        loss: str,
    ) -> None:
        super().__init__(loss=make_loss(loss), decoder=DenseDecoder(classes, image, conditional=grouping != "linear"))
        c, h, w = feature_shape(convs, image)
        self.convs, self.classes, self.grouping = convs, classes, grouping
        self.units = nn.Linear(c * h * w, classes.n * classes.d, bias=False)
        self.output = nn.Linear(classes.n * classes.d, classes.n) if grouping == "linear" else None

    def forward(self, x: Tensor, record: Record = "none") -> Parse:
        """Scores, and the groups as class capsules for the decoder."""
        check_record(record)
        features = self.convs(x)
        if self.grouping == "length":
            vectors = squash(rearrange(features, "b (n d) h w -> b h w n d", d=8))
            features = rearrange(vectors, "b h w n d -> b (n d) h w")
        units = self.units(features.flatten(1))
        groups = rearrange(units, "b (n d) -> b 1 1 n d", n=self.classes.n)
        if self.grouping == "length":
            groups = squash(groups)
        act = length(groups) if self.grouping == "length" else groups.sum(-1)
        scores = rearrange(act, "b 1 1 n -> b n") if self.output is None else self.output(units)
        return Parse(scores, [Capsules(groups, act)], [], [])


def convnet_grouped(
    *,
    grouping: Grouping = "sum",
    num_classes: int = 10,
    in_chans: int = 1,
    image_size: Size = 40,
    width: float = 1.0,
    conv_width: float = 1.0,
    kernel: int = 9,
    loss: str = "bce",
) -> GroupedConvNet:
    """ConvNet-CR ("sum"), ConvNet-R ("linear"), ConvNet-CR-SF ("length"): two convolutions and 16 units a class."""
    if grouping not in ("sum", "length", "linear"):
        raise ValueError(f"grouping={grouping!r} is not allowed: choose one of 'sum', 'length', 'linear'")
    narrow = width * conv_width
    stack = convolutions(in_chans, [(widen(256, narrow), kernel, 1), (widen(32, narrow) * 8, kernel, 2)])
    convs = stack[:-1] if grouping == "length" else stack  # squashed vectors keep their sign: no second ReLU
    classes = CapsShape((1, 1), num_classes, 16)
    return GroupedConvNet(convs, image_shape(in_chans, image_size), classes, grouping=grouping, loss=loss)
