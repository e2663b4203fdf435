"""What every attack is: a search for images near the given ones that a network gets wrong."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from torchcaps.data import Dataset
from torchcaps.infer import evaluating
from torchcaps.network import Model

Norm = Literal["linf", "l2"]
NORMS: tuple[Norm, ...] = get_args(Norm)
SIGNS: dict[Norm, str] = {"linf": "L∞", "l2": "L2"}


@dataclass(frozen=True)
class Attack:
    """A callable from a network, images and their classes to adversarial images.

    Whatever it finds is brought within `eps` of the images and, unless clipping is off, into 0 to 1; the network is
    attacked in evaluation mode and left as it was, its gradients and flags too.

    >>> class Darken(Attack):
    ...     name = "darken"
    ...     def search(self, model, images, labels):
    ...         return images - self.eps
    >>> from torchcaps.models import create_model
    >>> net, images = create_model("chen2019/lenet"), torch.full((1, 1, 28, 28), 0.5)
    >>> Darken(0.1)(net, images, torch.tensor([0])).unique()
    tensor([0.4000])

    Args:
        eps: how far a perturbation may go, in the units of the image, whose numbers run from 0 to 1: 8 of 255 grey
            levels are 8/255.
        norm: how far is measured: "linf" by the pixel that changes most, "l2" by the root of the sum of squares.
        clip: keep adversarial images within 0 to 1.
        seed: of all that is drawn.
    """

    name: ClassVar[str] = ""
    eps: float
    norm: Norm = "linf"
    clip: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.eps) and self.eps >= 0):
            raise ValueError(f"eps={self.eps} is not allowed: it is a distance, 0 or larger")
        if self.norm not in NORMS:
            raise ValueError(f"norm={self.norm!r} is not allowed: choose one of {', '.join(map(repr, NORMS))}")
        if self.clip and self.norm == "linf" and self.eps > 1:
            raise ValueError(
                f"eps={self.eps} is not allowed: it is in the units of the image, 0 to 1 (8 grey levels of 255 are "
                f"{8 / 255:.3f}); without clipping it may be larger"
            )

    def __call__(
        self, model: Model, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"]
    ) -> Float[Tensor, "b c h w"]:
        """Adversarial images for a network, one for each image of these classes, on the images' device."""
        if len(images) and self.clip and not 0 <= images.min().item() <= images.max().item() <= 1:
            raise ValueError(
                f"the images run from {images.min():.3g} to {images.max():.3g}, not from 0 to 1: attack them without "
                f"clipping, and read eps in their units"
            )
        if self.eps == 0 or not len(images):
            return images.clone()
        with frozen(model):
            found = self.search(model, images, labels).to(images)
        return bounded(images, found.detach(), self.eps, self.norm, clip=self.clip)

    def search(
        self, model: Model, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"]
    ) -> Float[Tensor, "b c h w"]:
        """Adversarial images, not yet held within their bounds."""
        raise TypeError(f"{type(self).__name__} must define search(model, images, labels)")

    def learned(self, model: Model, data: Dataset) -> "Attack":
        """The attack after it has learned what it can of a network before it sees the images; most learn nothing."""
        return self


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Evaluation mode with gradients of images but not of weights; modes and flags come back, whatever happens.

    >>> net = nn.Linear(2, 2)
    >>> with frozen(net):
    ...     net.training, net.weight.requires_grad, torch.is_grad_enabled()
    (False, False, True)
    >>> net.training, net.weight.requires_grad
    (True, True)
    """
    flags = [(p, p.requires_grad) for p in model.parameters()]
    with evaluating(model), torch.enable_grad():
        try:
            model.requires_grad_(False)
            yield
        finally:
            for p, flag in flags:
                p.requires_grad_(flag)


def bounded(
    images: Float[Tensor, "b c h w"], found: Float[Tensor, "b c h w"], eps: float, norm: Norm, *, clip: bool
) -> Float[Tensor, "b c h w"]:
    """The images nearest to those found that are within eps and, when clipped, within 0 to 1.

    Clipping moves every pixel towards the image, so it takes nothing out of the ball. What is not a number stays as it
    was in the image.

    >>> bounded(torch.zeros(1, 1, 1, 2), torch.tensor([[[[3.0, -4.0]]]]), 1.0, "l2", clip=False)
    tensor([[[[ 0.6000, -0.8000]]]])
    """
    moved = torch.where(found.isfinite(), found - images, 0)
    if norm == "linf":
        moved = moved.clamp(-eps, eps)
    else:
        moved = moved * (eps / length(moved).clamp_min(1e-12)).clamp_max(1)
    return (images + moved).clamp(0, 1) if clip else images + moved


def length(moved: Float[Tensor, "b c h w"]) -> Float[Tensor, "b 1 1 1"]:
    """The L2 norm of each perturbation."""
    norms: Tensor = torch.linalg.vector_norm(moved, dim=(1, 2, 3), keepdim=True)
    return norms


def single(labels: Int[Tensor, "b k"]) -> Int[Tensor, " b"]:
    """The one class of each image; images of several are refused."""
    if labels.shape[1] != 1:
        raise ValueError(
            f"an attack needs images of one class, and these have {labels.shape[1]} labels each: what counts as a "
            f"success against several objects is not defined"
        )
    return labels[:, 0]


def bound_in_words(attack: Attack, eps: str = "eps") -> str:
    """How an attack's perturbations are bounded, for titles and notes.

    >>> bound_in_words(Attack(0.1, "l2"))
    'L2 ≤ eps, images from 0 to 1, clipped'
    """
    return f"{SIGNS[attack.norm]} ≤ {eps}, images from 0 to 1, {'clipped' if attack.clip else 'not clipped'}"
