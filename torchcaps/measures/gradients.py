"""The gradients that reach capsules and their weights (mitterreiter2023, theorems 1 and 2)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from torchcaps.data import Batch
from torchcaps.infer import evaluating, ready
from torchcaps.losses import multi_hot
from torchcaps.measures._layers import capsule_layers
from torchcaps.network import CapsNet
from torchcaps.types import Capsules


class LayerGradients(NamedTuple):
    """One layer of capsules.

    Attributes:
        capsules: the layer itself.
        pose: ∂L/∂u of each image's own loss.
        weight: ∂L/∂W of the mean loss for the maps that lead away from the layer; None for the last layer.
    """

    capsules: Capsules
    pose: Float[Tensor, "b h w n d"]
    weight: Float[Tensor, "m x jy"] | None


def gradients(model: CapsNet, batch: Batch) -> list[LayerGradients]:
    """Gradients of the model's loss at every layer of capsules, in evaluation mode; the model is left as it was.

    Under a concurrent schedule the last state of a layer may not reach the output; the last that does is taken.

    >>> from torchcaps.models import create_model
    >>> net = create_model("mitterreiter2023/capsnet", width=0.1, image_size=28)
    >>> found = gradients(net, Batch(torch.rand(3, 1, 28, 28), torch.tensor([[0], [1], [2]])))
    >>> [tuple(layer.pose.shape) for layer in found]
    [(3, 1, 1, 2, 8), (3, 1, 1, 2, 8), (3, 1, 1, 2, 8), (3, 1, 1, 2, 8), (3, 1, 1, 10, 8)]
    """
    with evaluating(model), torch.enable_grad():
        # Primary capsules need not have weights: poses have gradients because the images do.
        parse = model(ready(model, batch.images).detach().requires_grad_(), "all")
        labels = batch.labels.to(parse.scores.device)
        loss = model.loss(parse.scores, multi_hot(labels, parse.scores.shape[-1]))
        weights = [layer.weight for layer in capsule_layers(model)]
        states = [[parse.capsules[0].pose], *([state.pose for state in history] for history in parse.history)]
        poses = [pose for layer in states for pose in layer]
        found = iter(torch.autograd.grad(loss, [*weights, *poses], allow_unused=True))
    maps = [torch.zeros_like(w) if g is None else g for w, g in zip(weights, found, strict=False)]
    layers = []
    for k, layer in enumerate(states):
        reached = [g for g in (next(found) for _ in layer) if g is not None]
        own = len(batch.images) * reached[-1] if reached else torch.zeros_like(layer[-1])
        capsules = Capsules(*(t.detach() for t in parse.capsules[k]))
        layers.append(LayerGradients(capsules, own, maps[k] if k < len(maps) else None))
    return layers
