"""Time and memory of a row's network by its routing iterations; nothing may run beside it."""

import torch

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject
from torchcaps.measures import iterations as measured
from torchcaps.models import create_model
from torchcaps.network import Model

MEGABYTE = 1 << 20


def iterations(subject: Subject, *, batch: int = 32, seconds: float = 0.5) -> Found:
    """Milliseconds of an answer and megabytes of a training step, for 1 to 5 iterations.

    Args:
        batch: images at once.
        seconds: for how long each network is timed.
    """
    settings = subject.own.settings

    def build(count: int) -> Model:
        return create_model(settings.model, **{**settings.model_options, "iters": count})

    model = subject.own.model
    shape = (model.recipe["options"]["in_chans"], *2 * [model.recipe["options"]["image_size"]])
    found = measured(build, torch.rand(batch, *shape), seconds=seconds)
    numbers = {f"ms/{p.iterations}": Number(1000 * p.seconds) for p in found.points}
    numbers |= {f"megabytes/{p.iterations}": Number(p.training_peak_bytes / MEGABYTE) for p in found.points}
    return Found(numbers, {"iterations": found.to_json()})
