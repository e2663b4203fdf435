"""Putting a capsule network together from its parts, and the choices all capsule models share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import torch
from torch import nn

from torchcaps.layers import ActivationHead, CapsuleLayer, DenseDecoder, Head, LinearHead, PrimaryCapsules
from torchcaps.layers.decoder import Image
from torchcaps.losses import make_loss
from torchcaps.network import CapsNet
from torchcaps.routing import ROUTINGS, RoutingFactory
from torchcaps.schedule import Schedule, sequential
from torchcaps.types import CapsShape

Size = int | tuple[int, int]
Reconstruction = Literal["conditional", "plain", "none"]
RoutingChoice = str | RoutingFactory


def widen(n: int, width: float, *, multiple: int = 1) -> int:
    """`n` times a factor, as a multiple of `multiple`, at least that.

    >>> widen(256, 0.25), widen(32, 0.01)
    (64, 1)
    """
    if width <= 0:
        raise ValueError(f"width={width} is not allowed: it must be positive")
    return max(1, round(n * width / multiple)) * multiple


def image_shape(in_chans: int, image_size: Size) -> Image:
    """Channels, height and width of an image.

    >>> image_shape(3, 32)
    (3, 32, 32)
    """
    h, w = (image_size, image_size) if isinstance(image_size, int) else image_size
    return in_chans, h, w


def choose_routing(routing: RoutingChoice, own: Mapping[str, RoutingFactory]) -> RoutingFactory:
    """A routing by name, as the paper sets it up where it does (`own`), or a factory as it is."""
    if not isinstance(routing, str):
        return routing
    if routing in own:
        return own[routing]
    if routing not in ROUTINGS:
        raise ValueError(f"routing={routing!r} is not allowed: choose one of {', '.join(map(repr, ROUTINGS))}")
    return ROUTINGS[routing]


def feature_shape(backbone: nn.Module, image: Image) -> tuple[int, int, int]:
    """Channels, height and width of what a backbone makes of an image.

    >>> feature_shape(nn.Conv2d(3, 8, 5), (3, 32, 32))
    (8, 28, 28)
    """
    device = next((p.device for p in backbone.parameters()), torch.get_default_device())
    training = backbone.training
    try:
        with torch.no_grad():
            features = backbone.eval()(torch.zeros(1, *image, device=device))
    except RuntimeError as error:
        raise ValueError(f"the backbone cannot take images of {image} (channels, height, width): {error}") from error
    finally:
        backbone.train(training)
    if features.ndim != 4:
        raise ValueError(
            f"the backbone returns shape {tuple(features.shape)}: a feature map (batch, channels, height, width) is "
            f"needed"
        )
    _, c, h, w = features.shape
    return c, h, w


def assemble(
    backbone: nn.Module,
    image: Image,
    primary: Callable[[tuple[int, int, int]], PrimaryCapsules],
    layers: Sequence[Callable[[CapsShape], CapsuleLayer]],
    *,
    head: type[Head] = ActivationHead,
    schedule: Schedule = sequential,
    reconstruction: Reconstruction = "none",
    loss: str | None = None,
) -> CapsNet:
    """Build each part for the shape the one before gives.

    A routing without activations is read by a linear head, whatever the paper's own head is.
    """
    if reconstruction not in ("conditional", "plain", "none"):
        raise ValueError(
            f"reconstruction={reconstruction!r} is not allowed: choose one of 'conditional', 'plain', 'none'"
        )
    first = primary(feature_shape(backbone, image))
    shape, built = first.shape_out, list[CapsuleLayer]()
    for layer in layers:
        built.append(layer(shape))
        shape = built[-1].shape_out
    decoder = None
    if reconstruction != "none":
        decoder = DenseDecoder(shape, image, conditional=reconstruction == "conditional")
    kind = head if built[-1].routing.activates else LinearHead
    chosen = None if loss is None else make_loss(loss)
    return CapsNet(backbone, first, built, kind(shape), decoder=decoder, loss=chosen, schedule=schedule)
