"""Whole networks: training steps and inference, ours and the textbook's; and every model of the papers."""

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.measure import Call, Effort, measure
from benchmarks.speed.layers import difference
from benchmarks.speed.result import OURS, TEXTBOOK, Mode, Row, Workload, machine
from benchmarks.twin import twin_of, votes_bytes, without_routing
from torchcaps.losses import ReconstructionLoss, multi_hot
from torchcaps.models import card, create_model, list_models
from torchcaps.network import CapsNet, Model

PART, MODELS, BF16, FREE = "networks", "models", "torchcaps bf16", "no routing"
LARGEST_VOTES = 1 << 30  # bytes; training keeps the textbook's votes several times over
MODES: tuple[Mode, ...] = ("train", "inference")
CAPSNET = "sabour2017/capsnet"
BATCHES = {"tsai2020/inverted_simple": 8, CAPSNET: 128, "gu2021/capsnet": 64}
"""The networks of the issue."""


def workloads(*, quick: bool) -> Iterator[Workload]:
    """The networks of the issue. Without bf16 in hardware a bf16 convolution is emulated: small batches there."""
    width = 0.1 if quick else 1.0
    emulated = not machine(quick=quick)["bf16"]
    single = [(name, batch, False) for name, batch in BATCHES.items()]
    for name, batch, bf16 in (*single, (CAPSNET, 8 if emulated else BATCHES[CAPSNET], True)):
        title = f"{name}, bf16" if bf16 else name
        size = 4 if quick else batch
        yield _workload(PART, title, name, size, width=width, bf16=bf16)


def models(*, quick: bool) -> Iterator[Workload]:
    """Every model in the catalogue at its paper's image size, a batch of 8."""
    for name in list_models():
        batch, width = (2, 0.1) if quick else (8, 1.0)
        yield _workload(MODELS, name, name, batch, width=width, bf16=False)


def _workload(part: str, title: str, name: str, batch: int, *, width: float, bf16: bool) -> Workload:
    calls = partial(_own_calls, name, batch, width=width, bf16=bf16)
    return Workload(part, title, partial(_rows, part, title, name, batch, width=width, bf16=bf16), calls)


def _own_calls(name: str, batch: int, *, width: float, bf16: bool) -> Iterator[tuple[Mode, dict[str, Call]]]:
    setting = _setting(name, batch, width)
    for mode in MODES:
        calls = {OURS: call(mode, *setting)}
        if bf16:
            calls[BF16] = call(mode, *setting, bf16=True)
        yield mode, calls


def _setting(name: str, batch: int, width: float) -> tuple[Model, Tensor, Tensor, torch.optim.Optimizer]:
    """A network, images and labels, and an optimiser that does a step's work but leaves the weights."""
    net = create_model(name, width=width)
    images = torch.rand(batch, *card(name).image)
    labels = torch.randint(0, card(name).classes, (batch,))
    return net, images, labels, torch.optim.Adam(net.parameters(), lr=0.0, fused=True)


def _rows(
    part: str, workload: str, name: str, batch: int, effort: Effort, *, width: float, bf16: bool
) -> Iterator[Row]:
    net, images, labels, optimiser = _setting(name, batch, width)
    nets: dict[str, Model] = {OURS: net}
    notes: dict[str, Any] = {"batch": batch}
    if isinstance(net, CapsNet) and votes_bytes(net, batch) <= LARGEST_VOTES:
        nets = {TEXTBOOK: twin_of(net), OURS: net}
        notes["error"] = check_twin(net, images)
        if part == MODELS and [*net.backbone.parameters(), *net.primary.parameters()]:
            nets[FREE] = without_routing(net)
    effort = effort.brief() if part == MODELS else effort
    for mode in MODES:
        calls = {key: call(mode, each, images, labels, optimiser) for key, each in nets.items()}
        if bf16:
            calls[BF16] = call(mode, net, images, labels, optimiser, bf16=True)
        yield Row(part, workload, mode, measure(calls, effort), notes)


def check_twin(net: CapsNet, images: Tensor) -> float:
    """How far the twin's scores and class capsules are from the network's."""
    net.eval()
    return difference(partial(_outputs, twin_of(net).eval(), images), partial(_outputs, net, images))


def _outputs(net: Model, images: Tensor) -> tuple[Tensor, ...]:
    parse = net(images)
    return parse.scores, parse.capsules[-1].pose


def call(
    mode: Mode, net: Model, images: Tensor, labels: Tensor, optimiser: torch.optim.Optimizer, *, bf16: bool = False
) -> Call:
    """A training step with the network's own loss, its decoder and Adam; or class scores."""
    targets = multi_hot(labels, card(net.recipe["name"]).classes)

    def precision() -> Any:
        return torch.autocast(images.device.type, dtype=torch.bfloat16) if bf16 else nullcontext()

    def train() -> None:
        net.train()
        optimiser.zero_grad()
        with precision():
            parse = net(images)
            loss = net.loss(parse.scores, targets)
            if net.decoder is not None:
                loss = loss + ReconstructionLoss()(net.decoder, parse, labels[:, None], images[:, None])
        loss.backward()
        optimiser.step()

    @torch.no_grad()
    def infer() -> None:
        net.eval()
        with precision():
            net(images)

    return train if mode == "train" else infer
