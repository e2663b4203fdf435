"""A pretrained backbone in a training: what of it learns, and how fast."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from torch import nn

from torchcaps.backbones import trunk_of
from torchcaps.train.settings import Settings

FEW = 5000
"""Images to learn from, below which a backbone stays as it is unless the settings say otherwise."""


def tuned(model: nn.Module, settings: Settings, images: int) -> Settings:
    """Freeze what is not to learn; gives the settings with what was chosen.

    >>> tuned(nn.Linear(2, 2), Settings("sabour2017/capsnet", "mnist"), 100).tune
    """
    trunk = trunk_of(model)
    if trunk is None:
        if settings.tune is not None:
            raise ValueError(
                f"tune={settings.tune!r} is not allowed: the network has no pretrained backbone, which --backbone "
                f"gives it, as in --backbone efficientnet_lite0"
            )
        return settings
    what = settings.tune or ("head" if images < FEW else "all")
    trunk.tune(what)
    return replace(settings, tune=what)


def groups_of(model: nn.Module, settings: Settings) -> Iterator[dict[str, Any]]:
    """What an optimiser moves: all that learns, that of a pretrained backbone at a rate of its own."""
    trunk = trunk_of(model)
    if trunk is None:
        yield {"params": list(model.parameters())}
        return
    below = {id(p) for p in trunk.parameters()}
    free = [p for p in model.parameters() if p.requires_grad]
    yield {"params": [p for p in free if id(p) not in below]}
    if not trunk.is_frozen:
        yield {"params": [p for p in free if id(p) in below], "factor": settings.backbone_lr}
