"""The networks of a comparison: every capsule model with every routing, and ConvNets of about the same size."""

import inspect
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch

from torchcaps.bench.compare.contest import Entrant
from torchcaps.bench.losses import LOSSES
from torchcaps.models import card, create_model, match_parameters
from torchcaps.report import parameters
from torchcaps.routing import ROUTINGS

BASELINES = {"linear head": "baselines/linear_head", "small CNN": "baselines/small_cnn"}
"""What every network is held against, whoever competes besides."""
MODELS, ROUTED = ("sabour2017/capsnet", "gu2021/convnet_fc"), ("dynamic", "inverted_attention")


def choose(
    models: Sequence[str], routings: Sequence[str], image: tuple[int, int, int], classes: int, conv_width: float
) -> tuple[Entrant, ...]:
    """The entrants, capsule networks first; a ConvNet whose units are free has as many parameters as the first of them.

    The linear head and the small CNN of `BASELINES` are always among them.

    Args:
        models: names of `list_models`.
        routings: of every capsule model among them.
        image: channels, height and width.
        conv_width: of all; how wide convolutions are, as a share of the papers'.
    """
    for routing in routings:
        if routing not in ROUTINGS:
            raise ValueError(f"routing {routing!r} is not allowed: choose from {', '.join(ROUTINGS)}")
    shape: dict[str, Any] = {"num_classes": classes, "in_chans": image[0], "image_size": image[1]}
    capsules = [name for name in dict.fromkeys(models) if card(name).routing is not None]
    plain = [name for name in dict.fromkeys(models) if card(name).routing is None]
    if len(capsules) * len(routings) + len(plain) < 2:
        raise ValueError(f"{', '.join(models) or 'nothing'} with {', '.join(routings)} is one network: name another")
    found = [
        _capsules(model, routing, conv_width, alone=len(capsules) == 1) for model in capsules for routing in routings
    ]
    wanted = _size(found[0], shape) if found else None
    named = [name for name in plain if name not in BASELINES.values()]
    others = [_plain(model, conv_width, shape, wanted, alone=len(named) == 1) for model in named]
    return (*found, *others, *(Entrant(name, model, {}, capsules=False) for name, model in BASELINES.items()))


def _capsules(model: str, routing: str, conv_width: float, *, alone: bool) -> Entrant:
    name = routing.replace("_", " ")
    options: dict[str, Any] = {"conv_width": conv_width, "routing": routing}
    if routing in LOSSES and card(model).routing != routing:
        options["loss"] = LOSSES[routing]
    return Entrant(name if alone else f"{model} {name}", model, options)


def _plain(model: str, conv_width: float, shape: dict[str, Any], wanted: int | None, *, alone: bool) -> Entrant:
    options: dict[str, Any] = {"conv_width": conv_width}
    if wanted is not None and "units" in inspect.signature(card(model).build).parameters:
        with suppress(ValueError):  # if its convolutions alone have more, it stays as its paper has it
            options["units"] = match_parameters(model, "units", wanted, **options, **shape)
    return Entrant("ConvNet" if alone else model, model, options, capsules=False)


def _size(entrant: Entrant, shape: dict[str, Any]) -> int:
    """The parameters that its predictions need; a decoder helps in training only."""
    with torch.device("meta"):
        return parameters(create_model(entrant.model, **entrant.options, **shape))[0]
