"""What a training would cost: parameters, memory and time, from a few timed steps."""

import resource
import time
from pathlib import Path
from typing import Any, NamedTuple

from torchcaps.data import Dataset
from torchcaps.network import Model

WARM, TIMED = 1, 3


class Estimate(NamedTuple):
    """The cost of a training on this machine."""

    parameters: int
    images: int
    steps: int
    seconds_per_step: float
    seconds: float
    megabytes: float


def estimate(model: str | Model, data: str | Path | Dataset, **values: Any) -> Estimate:
    """Time a few steps with these settings, keep nothing.

    >>> estimate("mitterreiter2023/capsnet", "glyphs", options={"width": 0.1}, batch_size=8).parameters
    1375294
    """
    import torch
    from lightning_fabric import Fabric

    from torchcaps.train.fitting import PRECISION, prepare, settings_from
    from torchcaps.train.loop import Training

    network, settings, splits = prepare(settings_from(model, data, values), model, data)
    fabric = Fabric(accelerator="cpu", devices=1, precision=PRECISION[settings.precision])  # type: ignore[arg-type]
    training = Training(fabric, settings, network, splits._replace(validation=None), folder=None)
    index = torch.arange(min(settings.batch_size, len(splits.train)))
    seconds = []
    for _ in range(WARM + TIMED):
        began = time.perf_counter()
        training.train_on(splits.train.batch(index))
        seconds.append(time.perf_counter() - began)
    step = min(seconds[WARM:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    parameters = sum(p.numel() for p in network.parameters())
    return Estimate(parameters, len(splits.train), training.total, step, step * training.total, peak)
