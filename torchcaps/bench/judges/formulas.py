"""The gradients of mitterreiter2023's theorems 1 and 2 against autograd."""

import torch
from torch import Tensor

from torchcaps.bench.evidence import Number
from torchcaps.bench.subject import Found, Subject
from torchcaps.data import Batch
from torchcaps.functional import length
from torchcaps.losses import MarginLoss
from torchcaps.measures.gradients import gradients
from torchcaps.models import create_model
from torchcaps.network import CapsNet


def formulas(
    subject: Subject,  # noqa: ARG001  # the seed is set before
    *,
    count: int = 8,
) -> Found:
    """Relative errors of both theorems, at worst, for a network with random weights in double precision.

    Theorem 1 gives the gradient of a class capsule. Theorem 2 says that the gradient of a map is the outer product of
    the capsule and the gradient of its vote, and that of the capsule the sum of those gradients times the maps.
    """
    model = create_model("mitterreiter2023/capsnet", conv_width=0.25, image_size=28, reconstruction="none").double()
    if not isinstance(model, CapsNet) or not isinstance(model.loss, MarginLoss):
        raise TypeError("mitterreiter2023/capsnet is a capsule network with the margin loss")
    images, labels = torch.rand(count, 1, 28, 28).double(), torch.arange(count)[:, None] % 10
    top = gradients(model, Batch(images, labels))[-1]
    first = _theorem_1(top.capsules.pose[:, 0, 0], labels, model.loss)
    second = max(_theorem_2(model, images[k : k + 1], labels[k : k + 1]) for k in range(count))
    return Found({"theorem 1": Number(_error(top.pose[:, 0, 0], first)), "theorem 2": Number(second)})


def _theorem_1(pose: Tensor, labels: Tensor, loss: MarginLoss) -> Tensor:
    there = torch.zeros(pose.shape[:2], dtype=pose.dtype).scatter(1, labels, 1.0)[..., None]
    size = length(pose)[..., None]
    pull = -there * (loss.upper - size).clamp_min(0) + loss.down_weight * (1 - there) * (size - loss.lower).clamp_min(0)
    return pull * 2 * pose / size


def _theorem_2(model: CapsNet, image: Tensor, label: Tensor) -> float:
    """How far gradients of maps and capsules are from the formulas, with the votes' gradients read off the maps'."""
    worst = 0.0
    for below, layer in zip(gradients(model, Batch(image, label)), model.layers, strict=False):
        u, found, maps = below.capsules.pose[0, 0, 0], below.weight, layer.weight
        if found is None or not isinstance(maps, Tensor):
            raise TypeError("a capsule layer has maps, and they have gradients")
        vote = torch.einsum("ix,ixv->iv", u, found) / u.square().sum(-1, keepdim=True)
        capsule = torch.einsum("iv,ixv->ix", vote, maps.detach())
        outer = torch.einsum("ix,iv->ixv", u, vote)
        worst = max(worst, _error(found, outer), _error(below.pose[0, 0, 0], capsule))
    return worst


def _error(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())
