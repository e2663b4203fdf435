"""How many parameters a row's network has at the paper's full size."""

from collections.abc import Sequence

import torch

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject
from torchcaps.models import create_model

NARROWING = ("width", "conv_width")


def parameters(
    subject: Subject, *, classes: Sequence[int] = (10,), share: float = 1.0, on: str = "parameters"
) -> Found:
    """The count, whatever the scale made narrower, for each number of classes.

    Args:
        share: a part of the count, for claims such as "four times fewer".
        on: the name of the number, before the classes.
    """
    settings = subject.own.settings
    full = {name: value for name, value in settings.model_options.items() if name not in NARROWING}
    found = {}
    for count in classes:
        with torch.device("meta"):
            model = create_model(settings.model, **{**full, "num_classes": count})
        found[f"{on}/{count}"] = Number(share * sum(p.numel() for p in model.parameters()))
    return Found(found)
