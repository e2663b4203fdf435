"""How long a training step takes beside one with another routing; nothing may run beside it."""

import time

import torch

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject
from torchcaps.losses import multi_hot
from torchcaps.models import card, create_model
from torchcaps.network import Model


def step_time(
    subject: Subject, *, model: str, against: str, width: float = 1.0, batch: int = 32, rounds: int = 9
) -> Found:
    """The ratio of the least times of a step, the model's own routing over another's, in turns.

    Args:
        against: the other routing.
    """
    torch.manual_seed(subject.seed)
    pair = [create_model(model, width=width), create_model(model, width=width, routing=against)]
    images, labels = torch.rand(batch, *card(model).image), torch.randint(0, card(model).classes, (batch,))
    least = [float("inf")] * 2
    for _ in range(rounds):
        for k, net in enumerate(pair):
            least[k] = min(least[k], _seconds(net, images, labels))
    return Found({"ratio": Number(least[0] / least[1]), "ms": Number(1000 * least[0])})


def _seconds(net: Model, images: torch.Tensor, labels: torch.Tensor) -> float:
    began = time.perf_counter()
    scores = net(images).scores
    net.loss(scores, multi_hot(labels, scores.shape[-1])).backward()
    spent = time.perf_counter() - began
    net.zero_grad()
    return spent
