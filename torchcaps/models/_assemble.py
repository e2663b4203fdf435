"""Putting a capsule network together from its parts, and the choices all capsule models share."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from torchcaps.backbones import Trunk
from torchcaps.layers import ActivationHead, CapsuleLayer, DenseDecoder, Head, LinearHead, PrimaryCapsules
from torchcaps.layers.decoder import Image
from torchcaps.losses import make_loss
from torchcaps.models._fitting import layer_on, primary_on
from torchcaps.models._options import broken, short
from torchcaps.network import CapsNet
from torchcaps.routing import ROUTINGS, RoutingFactory
from torchcaps.schedule import Schedule, sequential
from torchcaps.types import CapsShape
from torchcaps.windows import TooSmallError, pair

Size = int | tuple[int, int]
Reconstruction = Literal["conditional", "plain", "none"]
RoutingChoice = str | RoutingFactory
RoutingOptions = Mapping[str, Any] | None


def widen(n: int, width: float, *, multiple: int = 1) -> int:
    """`n` times a factor, as a multiple of `multiple`, at least that.

    >>> widen(256, 0.25), widen(32, 0.01)
    (64, 1)
    """
    if not width > 0:
        raise ValueError(f"width={width} is not allowed: it must be positive")
    return max(1, round(n * width / multiple)) * multiple


def image_shape(in_chans: int, image_size: Size) -> Image:
    """Channels, height and width of an image.

    >>> image_shape(3, 32)
    (3, 32, 32)
    """
    return in_chans, *pair(image_size, "image_size")


def choose_routing(
    routing: RoutingChoice, own: Mapping[str, RoutingFactory], options: RoutingOptions = None
) -> RoutingFactory:
    """A routing by name, as the paper sets it up where it does (`own`), or a factory; with options of its own."""
    if isinstance(routing, str):
        if routing not in {**ROUTINGS, **own}:
            names = ", ".join(map(repr, ROUTINGS))
            raise ValueError(f"routing={routing!r} is not allowed: choose one of {names}, or register_routing yours")
        chosen = own.get(routing, ROUTINGS.get(routing))
    else:
        chosen = routing
    if not callable(chosen):
        raise ValueError(f"routing={routing!r} is not allowed: give a name or a factory such as EM")
    takes = {name: option for name, option in inspect.signature(chosen).parameters.items() if name != "shape"}
    for name, value in (options or {}).items():
        if name not in takes:
            raise ValueError(
                f"routing_options has {name!r}, which is not allowed: the routing takes {', '.join(takes)}"
            )
        if rule := broken(name, value, takes[name].annotation):
            raise ValueError(f"routing_options has {name}={short(value)}, which is not allowed: {rule}")
    return partial(chosen, **options) if options else chosen


def feature_shape(backbone: nn.Module, image: Image) -> tuple[int, int, int]:
    """Channels, height and width of what a backbone makes of an image.

    >>> feature_shape(nn.Conv2d(3, 8, 5), (3, 32, 32))
    (8, 28, 28)
    """
    like = next(backbone.parameters(), torch.empty(0))
    modes = [(module, module.training) for module in backbone.modules()]
    try:
        with torch.no_grad():
            features = backbone.eval()(torch.zeros(1, *image, device=like.device, dtype=like.dtype))
    except (RuntimeError, ValueError) as error:
        kind = TooSmallError if "Kernel size can't be greater" in str(error) else ValueError
        raise kind(f"the backbone cannot take images of {image} (channels, height, width): {error}") from error
    finally:
        for module, training in modes:
            module.training = training
    if not isinstance(features, Tensor) or features.ndim != 4:
        what = f"shape {tuple(features.shape)}" if isinstance(features, Tensor) else f"a {type(features).__name__}"
        raise ValueError(f"the backbone returns {what}: a feature map (batch, channels, height, width) is needed")
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

    A routing without activations is read by a linear head, whatever the paper's own head is. Above a pretrained
    backbone kernels and windows are made to fit its map.
    """
    if reconstruction not in ("conditional", "plain", "none"):
        raise ValueError(
            f"reconstruction={reconstruction!r} is not allowed: choose one of 'conditional', 'plain', 'none'"
        )
    features, coarse = feature_shape(backbone, image), isinstance(backbone, Trunk)
    first = primary_on(primary, features) if coarse else primary(features)
    shape, built = first.shape_out, list[CapsuleLayer]()
    for layer in layers:
        built.append(layer_on(layer, shape) if coarse else layer(shape))
        shape = built[-1].shape_out
    decoder = None
    if reconstruction != "none":
        decoder = DenseDecoder(shape, image, conditional=reconstruction == "conditional")
    kind = head if built[-1].routing.activates else LinearHead
    if loss == "bce" and kind.reads_activation:
        loss = "bce_lengths"  # an activation is a probability already
    chosen = None if loss is None else make_loss(loss)
    return CapsNet(backbone, first, built, kind(shape), decoder=decoder, loss=chosen, schedule=schedule)
