"""The moving average of a network's weights and buffers, by which a training may be judged and which it then leaves."""

from collections.abc import Mapping

import torch
from lightning_fabric import Fabric
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from torchcaps.network import Model
from torchcaps.train.checkpoint import Checkpoint, unpack_model

Tensors = tuple[Tensor, ...] | list[Tensor]

PART = "average."
"""Before the names of averaged weights in a checkpoint."""


def averaged(model: Model, decay: float) -> AveragedModel:
    """A second network that follows a first one: every update moves its weights and buffers towards those of the first.

    The first update copies them, and the decay grows with the updates from 2/11 on, so that the first weights, which
    are random, are soon forgotten. Buffers of whole numbers are not averaged but copied.

    >>> from torchcaps.models import create_model
    >>> net = create_model("chen2019/lenet")
    >>> mean = averaged(net, 0.999)
    >>> mean.update_parameters(net)
    >>> int(mean.n_averaged)
    1

    Args:
        decay: how much of the old average the later updates keep, from 0 up to, but not, 1.
    """

    @torch.no_grad()
    def follow(means: Tensors, now: Tensors, updates: Tensor | int) -> None:
        if means[0].is_floating_point():
            get_ema_multi_avg_fn(decay_after(int(updates), decay))(means, now, updates)
        else:
            torch._foreach_copy_(means, now)

    return AveragedModel(model, multi_avg_fn=follow, use_buffers=True)


def decay_after(updates: int, decay: float) -> float:
    """The decay of an update that is not the first.

    >>> [round(decay_after(updates, 0.99), 3) for updates in (1, 10, 100, 1000)]
    [0.182, 0.55, 0.918, 0.99]
    """
    return min(decay, (1 + updates) / (10 + updates))


def share_buffers(model: Model, fabric: Fabric) -> None:
    """Have every process judge with the buffers of the first, which are kept: their own come from their own images."""
    if fabric.world_size > 1:
        own = list(model.buffers())
        for buffer, first in zip(own, fabric.broadcast([buffer.cpu() for buffer in own]), strict=True):
            buffer.copy_(first)


def pack_average(average: AveragedModel) -> dict[str, Tensor]:
    """Averaged weights as a checkpoint holds them."""
    return {f"{PART}{name}": tensor for name, tensor in average.module.state_dict().items()}


def unpack_average(average: AveragedModel, tensors: Mapping[str, Tensor], step: int) -> None:
    """Put back what `pack_average` took after a step."""
    weights = _of(tensors)
    if not weights:
        raise ValueError("the checkpoint has no averaged weights, and the settings have an average")
    average.module.load_state_dict(weights)
    average.n_averaged.fill_(step)


def judged_weights(found: Checkpoint) -> dict[str, Tensor]:
    """The network's weights in a checkpoint that validation is judged with: averaged ones, if it has any."""
    return _of(found.tensors) or unpack_model(found)


def _of(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(PART): tensor for name, tensor in tensors.items() if name.startswith(PART)}
