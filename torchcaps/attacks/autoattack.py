"""AutoAttack: four attacks one after the other, each on the images that withstood those before."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from torchcaps.attacks._art import BATCH, ORDERS, array, classifier, toolbox
from torchcaps.attacks._base import Attack
from torchcaps.losses import multi_hot
from torchcaps.network import Model

LEAST = 10  # height and width from which ART's Square Attack works


@dataclass(frozen=True)
class AutoAttack(Attack):
    """APGD on cross entropy, APGD on the difference of logits ratio, DeepFool and Square (Croce and Hein 2020), by ART.

    The attacks bring their own losses, which read logits. A capsule network's scores are lengths, so all networks are
    shown to them as log p, where p are the probabilities that the network's own loss reads from its scores
    (`Model.probabilities`): for a network that gives logits these are its logits less a constant, which neither loss
    notices; for lengths they are log(length / sum of lengths). The softmax of log p is p again.

    The ratio needs three classes, and ART's Square Attack square images of at least 10 × 10 pixels; where they are
    missing these two are left out. ART's own `AutoAttack` class needs a package that ART does not ask for, so its
    attacks are called here in its order and with its rule for success.

    Args:
        steps: of each APGD and of DeepFool.
        restarts: of each APGD and of Square; one, as in the paper's standard version (ART starts five times).
        queries: of Square, for each restart. It only sees what withstood the rest, but then asks so many times: a
            hundred images that withstand cost a LeNet minutes.
    """

    name: ClassVar[str] = "autoattack"
    steps: int = 100
    restarts: int = 1
    queries: int = 5000

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("steps", "restarts", "queries"):
            if getattr(self, option) < 1:
                raise ValueError(f"{option}={getattr(self, option)} is not allowed: at least one is needed")

    def search(
        self, model: Model, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"]
    ) -> Float[Tensor, "b c h w"]:
        """What the first successful attack finds; where none is, the image itself."""
        with toolbox(self.seed):
            from art.attacks.evasion.auto_attack import run_attack  # type: ignore[import-untyped]

            target = self._target(model, images, (0.0, 1.0) if self.clip else None)
            found, wanted = array(images).copy(), array(multi_hot(labels, target.nb_classes))
            withstands = target.predict(found).argmax(1) == wanted.argmax(1)
            for attack in self._attacks(model, images):
                if withstands.any():
                    found, withstands = run_attack(
                        found, wanted, withstands, attack, target, ORDERS[self.norm], self.eps
                    )
            return torch.from_numpy(found)

    def _attacks(self, model: Model, images: Tensor) -> Iterator[Any]:
        from art.attacks.evasion import (  # type: ignore[import-untyped]
            AutoProjectedGradientDescent,
            DeepFool,
            SquareAttack,
        )

        target = self._target(model, images, (0.0, 1.0) if self.clip else None)
        losses = ["cross_entropy", "difference_logits_ratio"]
        for loss in losses if target.nb_classes > 2 else losses[:1]:
            yield AutoProjectedGradientDescent(
                target,
                norm=ORDERS[self.norm],
                eps=self.eps,
                eps_step=self.eps / 3,
                max_iter=self.steps,
                nb_random_init=self.restarts,
                batch_size=BATCH,
                loss_type=loss,
                verbose=False,
            )
        yield DeepFool(target, max_iter=self.steps, epsilon=1e-3, nb_grads=10, batch_size=BATCH, verbose=False)
        height, width = images.shape[-2:]
        if height == width >= LEAST:
            unlimited = None if self.clip else (-np.inf, np.inf)
            yield SquareAttack(
                target if unlimited is None else self._target(model, images, unlimited),
                norm=ORDERS[self.norm],
                eps=self.eps,
                max_iter=self.queries,
                nb_restarts=self.restarts,
                p_init=min(0.8, ((height - 2) / height) ** 2),
                batch_size=BATCH,
                verbose=False,
            )

    @staticmethod
    def _target(model: Model, images: Tensor, clip: tuple[float, float] | None) -> Any:
        def log_probabilities(scores: Tensor) -> Tensor:
            return model.probabilities(scores).clamp_min(torch.finfo(torch.float32).tiny).log()

        return classifier(model, images, nn.CrossEntropyLoss(), clip, log_probabilities)
