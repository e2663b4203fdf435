"""The Adversarial Robustness Toolbox: imported late, kept quiet, and given a network that it cannot change."""

import logging
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from torchcaps.attacks._base import Norm
from torchcaps.infer import infer, ready
from torchcaps.losses import LOSSES, make_loss
from torchcaps.network import Model

ORDERS: dict[Norm, Any] = {"linf": np.inf, "l2": 2}
BATCH = 128  # images that ART attacks at once


@contextmanager
def toolbox(seed: int) -> Iterator[None]:
    """ART without its log and warnings, drawing from a seed; the chance of everybody else goes on as it was."""
    logger = logging.getLogger("art")
    level, of_numpy, of_python = logger.level, np.random.get_state(), random.getstate()
    logger.setLevel(logging.CRITICAL)
    np.random.seed(seed % 2**32)
    random.seed(seed)
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):  # its data loaders draw from torch
            warnings.filterwarnings("ignore", module=r"(art|tqdm)\.")
            require()
            yield
    finally:
        logger.setLevel(level)
        np.random.set_state(of_numpy)
        random.setstate(of_python)


def require() -> None:
    """Say what is missing where the extra `attacks` is."""
    try:
        import art.attacks.evasion  # type: ignore[import-untyped]  # noqa: F401
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(f"attacks need {missing.name}: pip install 'torchcaps[attacks]'") from missing


class Scores(nn.Module):
    """What ART sees of a network: class scores, in float32 and on the processor, where ART keeps its arrays.

    The network is no part of this module, so ART can neither move it nor change its mode or gradients.
    """

    def __init__(self, model: Model, read: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self._model, self._read = [model], read

    def forward(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b n"]:
        """The scores of images, wherever the network lives."""
        (model,) = self._model
        return self._read(model(ready(model, images)).scores).float().cpu()


def find_loss(model: Model, loss: str | nn.Module) -> nn.Module:
    """A loss by name, or the network's own.

    >>> from torchcaps.models import create_model
    >>> type(find_loss(create_model("sabour2017/capsnet", width=0.05), "own")).__name__
    'MarginLoss'
    """
    if isinstance(loss, nn.Module):
        return loss
    if loss == "own":
        return model.loss
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is not allowed: choose 'own' or one of {', '.join(map(repr, LOSSES))}")
    return make_loss(loss)


def classifier(
    model: Model,
    images: Float[Tensor, "b c h w"],
    loss: nn.Module,
    clip: tuple[float, float] | None,
    read: Callable[[Tensor], Tensor] = lambda scores: scores,
) -> Any:
    """A network as ART wants it.

    Args:
        loss: from what `read` gives and multi-hot targets to a number.
        clip: the range that ART keeps images in.
        read: what ART is given instead of the scores.
    """
    from art.estimators.classification import PyTorchClassifier  # type: ignore[import-untyped]

    return PyTorchClassifier(
        Scores(model, read),
        loss=loss,
        input_shape=tuple(images.shape[1:]),
        nb_classes=infer(model, images[:1]).scores.shape[-1],
        clip_values=clip,
        preprocessing=None,
        device_type="cpu",
    )


def array(tensor: Tensor) -> np.ndarray:
    """A tensor as the array that ART takes."""
    return tensor.detach().float().cpu().numpy()
