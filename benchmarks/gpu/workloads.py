"""The layers and networks of docs/speed.md, ours and the textbook's, as modules that take tensors and give tensors."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks import textbook
from benchmarks.speed import layers
from benchmarks.twin import twin_of
from torchcaps.layers import CapsuleLayer
from torchcaps.models import card, create_model
from torchcaps.network import CapsNet, Model
from torchcaps.routing import ROUTINGS
from torchcaps.types import CapsShape, Capsules

Ways = tuple[nn.Module, nn.Module, Sequence[Tensor]]
"""The textbook's step, ours, which shares its parameters, and what both are given."""


class Layer(nn.Module):
    """A layer and the way to run it."""

    def __init__(self, layer: CapsuleLayer, run: Callable[..., tuple[Tensor, Tensor]]) -> None:
        super().__init__()
        self.layer, self.run = layer, run

    def forward(self, pose: Tensor, act: Tensor) -> tuple[Tensor, ...]:
        return self.run(self.layer, Capsules(pose, act))


class Scores(nn.Module):
    """A network, of which only the scores are asked for."""

    def __init__(self, net: Model) -> None:
        super().__init__()
        self.net = net

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return (self.net(images).scores,)


def workloads(*, quick: bool = False) -> dict[str, Callable[[], Ways]]:
    """By name; a quick run has small sizes."""
    found: dict[str, Callable[[], Ways]] = {}
    few, batch = (CapsShape((2, 2), 4, 8), 4) if quick else (CapsShape((6, 6), 32, 8), 128)
    for name in ROUTINGS:
        found[f"{name}, FC 1152→10"] = partial(_layer, partial(layers.connected, name, few, 10, 16, batch))
    many, batch = (few, 2) if quick else (CapsShape((8, 8), 32, 8), 32)
    found["dynamic, FC 2048→100"] = partial(_layer, partial(layers.connected, "dynamic", many, 100, 16, batch))
    grid, batch = (CapsShape((5, 5), 2, 16), 1) if quick else (CapsShape((16, 16), 32, 16), 8)
    for name in ROUTINGS:
        found[f"{name}, conv 3×3"] = partial(_layer, partial(layers.convolutional, name, grid, batch))
    for name, batch in (("tsai2020/inverted_simple", 8), ("sabour2017/capsnet", 128)):
        size = {"batch": 2, "width": 0.05} if quick else {"batch": batch, "width": 1.0}
        found[f"`{name}`, batch {batch}"] = partial(_network, name, **size)
    return found


def _layer(build: Callable[[], layers.Case]) -> Ways:
    layer, below = build()
    return Layer(layer, textbook.run), Layer(layer, layers.ours), below


def _network(name: str, *, batch: float, width: float) -> Ways:
    net = create_model(name, width=width)
    net.decoder = None
    assert isinstance(net, CapsNet)
    return Scores(twin_of(net)), Scores(net), [torch.rand(int(batch), *card(name).image)]
