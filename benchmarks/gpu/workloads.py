"""Layers and networks of docs/speed.md, ours and the textbook's, as modules that take tensors and give tensors."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks import textbook
from benchmarks.speed import layers, networks
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


def workloads() -> dict[str, Callable[[], Ways]]:
    """By name."""
    found: dict[str, Callable[[], Ways]] = {name: partial(_layer, build) for name, build in layer_cases().items()}
    for name, batch in networks.BATCHES.items():
        found[f"`{name}`, batch {batch}"] = partial(_network, name, batch)
    return found


def layer_cases(*, quick: bool = False) -> dict[str, Callable[[], layers.Case]]:
    """The layers alone, by name; a quick run has small sizes."""
    found: dict[str, Callable[[], layers.Case]] = {}
    few, batch = (CapsShape((2, 2), 4, 8), 4) if quick else (CapsShape((6, 6), 32, 8), 128)
    for name in ROUTINGS:
        found[f"{name}, FC 1152→10"] = partial(layers.connected, name, few, 10, 16, batch)
    many, batch = (few, 2) if quick else (CapsShape((8, 8), 32, 8), 32)
    found["dynamic, FC 2048→100"] = partial(layers.connected, "dynamic", many, 100, 16, batch)
    grid, batch = (CapsShape((5, 5), 2, 16), 1) if quick else (CapsShape((16, 16), 32, 16), 8)
    for name in ROUTINGS:
        found[f"{name}, conv 3×3"] = partial(layers.convolutional, name, grid, batch)
    return found


def _layer(build: Callable[[], layers.Case]) -> Ways:
    layer, below = build()
    return Layer(layer, textbook.run), Layer(layer, layers.ours), below


def _network(name: str, batch: int) -> Ways:
    net = create_model(name)
    net.decoder = None
    assert isinstance(net, CapsNet)
    return Scores(twin_of(net)), Scores(net), [torch.rand(batch, *card(name).image)]
