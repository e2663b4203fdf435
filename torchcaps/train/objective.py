"""What is made small: a model's loss on a batch, with the decoder's where it has one."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from torchcaps.data import Batch
from torchcaps.losses import Loss, ReconstructionLoss, multi_hot
from torchcaps.measures import correct
from torchcaps.network import Model


class Outcome(NamedTuple):
    """The loss of a batch, and how many of its images were right."""

    loss: Float[Tensor, ""]
    hits: Int[Tensor, ""]


class Objective(nn.Module):
    """A model with its losses in one forward pass, so that any wrapper around it sees all of them.

    Args:
        classes: how many the data has, and the network must tell.
        reconstruction_weight: of the decoder's loss; with 0 the decoder is left out.
    """

    def __init__(self, model: Model, classes: int, reconstruction_weight: float = 0.0005) -> None:
        super().__init__()
        drawn = model.decoder is not None and reconstruction_weight > 0
        self.model, self.classes = model, classes
        self.reconstruction = ReconstructionLoss(reconstruction_weight) if drawn else None

    def anneal(self, share: float) -> None:
        """Let a loss whose constants change with the training know how much of it is done."""
        if isinstance(self.model.loss, Loss):
            self.model.loss.anneal(share)

    def forward(self, batch: Batch) -> Outcome:
        """Loss and hits of a batch; an image of several objects is right when all are found and nothing else."""
        images, labels, singles = batch
        parse = self.model(images)
        if parse.scores.shape[-1] != self.classes:
            raise ValueError(f"the model tells {parse.scores.shape[-1]} classes, but the data has {self.classes}")
        loss = self.model.loss(parse.scores, multi_hot(labels, self.classes))
        if self.reconstruction is not None and self.model.decoder is not None:
            targets = images[:, None] if singles is None else singles
            loss = loss + self.reconstruction(self.model.decoder, parse, labels, targets)
        return Outcome(loss, correct(parse.scores.detach(), labels).sum())


def part_of(batch: Batch, rank: int, world: int) -> tuple[Batch, float]:
    """A process's part of a global batch, and the factor that makes the mean over processes the mean over images."""
    if world == 1:
        return batch, 1.0
    n = len(batch.images)
    index = torch.arange(n * rank // world, n * (rank + 1) // world)
    weight = len(index) * world / n
    if not len(index):  # fewer images than processes: take part, without weight
        index = torch.zeros(1, dtype=torch.long)
    singles = None if batch.singles is None else batch.singles[index]
    return Batch(batch.images[index], batch.labels[index], singles), weight
