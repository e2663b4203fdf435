"""Attacks from a substitute: perturbations made for one network and shown to another."""

from dataclasses import dataclass, field
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from torchcaps.attacks._base import Attack, frozen
from torchcaps.attacks.fgsm import FGSM
from torchcaps.network import Model


@dataclass(frozen=True)
class Transfer(Attack):
    """Adversarial images of a substitute, so that the network under attack is asked nothing (chen2019, section 4.3).

    The paper's substitute is a LeNet, here `create_model("chen2019/lenet", pretrained=True)` for MNIST, attacked with
    FGSM.

    >>> from torchcaps.models import create_model
    >>> lenet, net = create_model("chen2019/lenet", pretrained=True), create_model("chen2019/lenet")
    >>> images, labels = torch.full((1, 1, 28, 28), 0.5), torch.tensor([3])
    >>> torch.equal(Transfer(0.1, substitute=lenet)(net, images, labels), FGSM(0.1)(lenet, images, labels))
    True

    Args:
        substitute: the network that the attacker has.
        through: how it is attacked; eps, norm, clip and seed are those given here.
    """

    name: ClassVar[str] = "transfer"
    substitute: Model = field(kw_only=True)
    through: type[Attack] = FGSM

    def search(
        self, model: Model, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"]
    ) -> Float[Tensor, "b c h w"]:
        """What the substitute gets wrong."""
        with frozen(self.substitute):
            attack = self.through(self.eps, self.norm, self.clip, self.seed)
            return attack.search(self.substitute, images, labels)
