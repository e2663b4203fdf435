"""Projected gradient descent: many small steps, brought back within eps after each."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from torchcaps.attacks._art import BATCH, ORDERS, array, classifier, find_loss, toolbox
from torchcaps.attacks._base import Attack
from torchcaps.losses import multi_hot
from torchcaps.network import Model


@dataclass(frozen=True)
class PGD(Attack):
    """Steps up the loss from a random start within eps (Madry et al. 2018).

    >>> from torchcaps.models import create_model
    >>> net, images = create_model("chen2019/lenet", pretrained=True), torch.full((1, 1, 28, 28), 0.5)
    >>> moved = PGD(0.1, steps=3)(net, images, torch.tensor([3])) - images
    >>> bool(moved.abs().max() <= 0.1001)
    True

    Args:
        loss: what is made large; as in `FGSM`.
        steps: how many gradients it looks at.
        step: how far each step goes; 2.5 · eps / steps if not given, so that any point within eps can be reached.
    """

    name: ClassVar[str] = "pgd"
    loss: str | nn.Module = "ce"
    steps: int = 40
    step: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps < 1:
            raise ValueError(f"steps={self.steps} is not allowed: at least one is needed")
        if self.step is not None and self.step <= 0:
            raise ValueError(f"step={self.step} is not allowed: it must be larger than 0")

    def search(
        self, model: Model, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"]
    ) -> Float[Tensor, "b c h w"]:
        """ART's ProjectedGradientDescentPyTorch from one random start."""
        with toolbox(self.seed):
            from art.attacks.evasion import ProjectedGradientDescentPyTorch  # type: ignore[import-untyped]

            target = classifier(model, images, find_loss(model, self.loss), (0.0, 1.0) if self.clip else None)
            descent = ProjectedGradientDescentPyTorch(
                target,
                norm=ORDERS[self.norm],
                eps=self.eps,
                eps_step=2.5 * self.eps / self.steps if self.step is None else self.step,
                max_iter=self.steps,
                num_random_init=1,
                batch_size=BATCH,
                verbose=False,
            )
            return torch.from_numpy(descent.generate(array(images), array(multi_hot(labels, target.nb_classes))))
