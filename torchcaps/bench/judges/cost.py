"""What a training step costs: time and memory; nothing may run beside it."""

from typing import Any

import torch

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject
from torchcaps.losses import multi_hot
from torchcaps.measures._cost import cost as cost_of
from torchcaps.models import card, create_model


def cost(
    subject: Subject,  # noqa: ARG001  # nothing is trained, and each seed is a repetition
    *,
    model: str,
    options: dict[str, Any] | None = None,
    width: float = 1.0,
    batch: int = 32,
    seconds: float = 2.0,
) -> Found:
    """Milliseconds and megabytes of forward and backward passes on a batch, and the parameters.

    Args:
        options: of the model.
        width: of the whole network; 1 is full size.
        seconds: for how long it is timed.
    """
    net = create_model(model, **{"width": width, **(options or {})})
    size = (options or {}).get("image_size", card(model).image[-1])
    images, labels = torch.rand(batch, card(model).image[0], size, size), torch.randint(0, 10, (batch,))

    def step() -> None:
        scores = net(images).scores
        net.loss(scores, multi_hot(labels, scores.shape[-1])).backward()
        net.zero_grad()

    spent = cost_of(step, seconds=seconds)
    numbers = {
        "ms": 1000 * spent.seconds,
        "megabytes": spent.peak_bytes / 2**20,
        "parameters": sum(p.numel() for p in net.parameters()) / 1e6,
    }
    return Found({name: Number(value) for name, value in numbers.items()})
