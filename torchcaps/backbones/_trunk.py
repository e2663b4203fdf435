"""What a pretrained backbone is: stages from images to a feature map, and the preprocessing they were trained with."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from einops import rearrange, repeat
from jaxtyping import Float
from torch import Tensor, nn

FORMAT = 1
"""Raised when the same weights come to give other features."""


class Preprocessing(NamedTuple):
    """How images from 0 to 1 become what a backbone was trained with.

    Args:
        size: height and width of its training images.
        mean, deviation: of each colour.
    """

    size: int
    mean: Sequence[float]
    deviation: Sequence[float]


class Trunk(nn.Module):
    """A pretrained backbone: images `b c h w` from 0 to 1 become features `b channels h' w'`.

    It normalises colours itself; grey images are taken as colour ones. What has as many channels as its features is
    taken for features that were computed before, and passes. Frozen stages stay in evaluation mode, so that batch norm
    keeps the statistics it came with.

    >>> stages = [nn.Conv2d(3, 8, 3, 2), nn.Conv2d(8, 16, 3, 2)]
    >>> trunk = Trunk("mine", stages, Preprocessing(32, [0.5] * 3, [0.5] * 3), channels=16)
    >>> features = trunk(torch.rand(2, 3, 32, 32))
    >>> features.shape, torch.equal(trunk(features), features)
    (torch.Size([2, 16, 7, 7]), True)

    Args:
        name: by which `load_backbone` finds it.
        stages: modules, one after the other.
        channels: of its features; more than an image has.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, name: str, stages: Iterable[nn.Module], preprocessing: Preprocessing, *, channels: int) -> None:
        super().__init__()
        if channels <= 3:
            raise ValueError(f"channels={channels} is not allowed: features need more channels than images have")
        self.name, self.preprocessing, self.channels = name, preprocessing, channels
        self.stages = nn.ModuleList(stages)
        self.frozen = 0
        self.register_buffer("mean", _colours(preprocessing.mean))
        self.register_buffer("deviation", _colours(preprocessing.deviation))

    def forward(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c2 h2 w2"]:
        """Features of images, or the features themselves."""
        if x.shape[1] == self.channels:
            return x
        if x.shape[1] not in (1, 3):
            raise ValueError(f"images of {x.shape[1]} channels are not allowed: {self.name} takes colour or grey ones")
        if x.shape[1] == 1:
            x = repeat(x, "b 1 h w -> b c h w", c=3)
        x = (x - self.mean) / self.deviation
        for stage in self.stages:
            x = stage(x)
        return x

    def tune(self, what: str) -> None:
        """Freeze all stages ("head"), all but the last N ("last:N"), or none ("all").

        >>> trunk = Trunk("mine", [nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 1)], Preprocessing(8, [0.5], [0.5]), channels=8)
        >>> trunk.tune("last:1")
        >>> [p.requires_grad for p in trunk.parameters()]
        [False, False, True, True]
        """
        kept = check_tune(what)
        count = len(self.stages)
        if kept is not None and kept > count:
            raise ValueError(f"tune={what!r} is not allowed: {self.name} has {count} stages")
        self.frozen = 0 if kept is None else count - kept
        for k, stage in enumerate(self.stages):
            stage.requires_grad_(k >= self.frozen)
        self.train(self.training)

    def train(self, mode: bool = True) -> "Trunk":  # noqa: FBT001  # as torch has it
        """Training or evaluation mode; what is frozen stays in the latter."""
        super().train(mode)
        for stage in self.stages[: self.frozen]:
            stage.eval()
        return self

    @property
    def is_frozen(self) -> bool:
        """Whether nothing of it learns, so that an image's features never change."""
        return self.frozen == len(self.stages)

    def digest(self) -> str:
        """What stands for its stages, weights, precision and preprocessing."""
        found = hashlib.sha256(f"{FORMAT} {self.name} {tuple(self.preprocessing)}\n".encode())
        return digest_of(self.state_dict(), found)


def check_tune(what: str) -> int | None:
    """How many of the last stages learn; None for all.

    >>> check_tune("head"), check_tune("last:3"), check_tune("all")
    (0, 3, None)
    """
    if what in ("head", "all"):
        return 0 if what == "head" else None
    found = re.fullmatch(r"last:([1-9]\d{0,3})", what)
    if not found:
        raise ValueError(
            f"tune={what!r} is not allowed: choose 'head', 'all', or 'last:N' with N from 1, as in 'last:3'"
        )
    return int(found[1])


def trunk_of(model: nn.Module) -> Trunk | None:
    """The pretrained backbone of a network, if it has one.

    >>> trunk_of(nn.Linear(2, 2))
    """
    return next((module for module in model.modules() if isinstance(module, Trunk)), None)


def digest_of(state: dict[str, Tensor], found: "hashlib._Hash | None" = None) -> str:
    """The SHA-256 of weights: names, kinds, shapes and numbers.

    >>> digest_of({"w": torch.zeros(2)}) == digest_of({"w": torch.zeros(2)}), len(digest_of({}))
    (True, 64)
    """
    found = hashlib.sha256() if found is None else found
    for name, tensor in sorted(state.items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        found.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


def _colours(values: Sequence[float]) -> Float[Tensor, "1 c 1 1"]:
    return rearrange(torch.tensor([float(value) for value in values]), "c -> 1 c 1 1")
