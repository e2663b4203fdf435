"""A view of a data set: its images as an attack on a network leaves them, so that every measure can be taken there."""

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from torchcaps.attacks._base import Attack, single
from torchcaps.attacks._methods import make_attack
from torchcaps.data import Batch, Dataset
from torchcaps.measures import View
from torchcaps.network import Model

BLOCK = 128  # images that are attacked together


def attacked(method: str | Attack, eps: float | None = None, **options: Any) -> View:
    """A view through an attack on the network that is measured; with the same seed it is the same every time.

    >>> from torchcaps.data import load
    >>> from torchcaps.measures import accuracy
    >>> from torchcaps.models import create_model
    >>> net, digits = create_model("chen2019/lenet", pretrained=True), load("glyphs", "test", count=50)
    >>> accuracy(net, attacked("fgsm", 0.3)(net, digits)).value < accuracy(net, digits).value
    True

    Args:
        method: a name of `METHODS` with its eps and other options, or an attack that is ready made.
    """
    if isinstance(method, Attack):
        if eps is not None or options:
            raise ValueError(f"{method} is an attack already: eps and options go with a name")
        attack = method
    elif eps is None:
        raise ValueError(f"eps is missing: say how far {method!r} may go, in the units of the image")
    else:
        attack = make_attack(method, eps, **options)

    def view(model: Model, data: Dataset) -> Dataset:
        return Attacked(attack.learned(model, data), model, data)

    return view


class Attacked(Dataset):
    """Images of another data set under attack, made when they are asked for.

    They are attacked in blocks of 128 neighbours, each with a seed of its own, so that an image is the same whatever
    the batch it comes in; the blocks of the last batch are kept.

    Args:
        attack: how.
        model: the network under attack, as it is when the images are asked for.
        data: images of one class each.
    """

    def __init__(self, attack: Attack, model: Model, data: Dataset) -> None:
        super().__init__(data.classes, data.image_shape, seed=data.seed)
        self.attack, self.model, self.data = attack, model, data
        if len(data):
            single(data.batch(torch.arange(1)).labels)
        self._kept = dict[tuple[int, int], Batch]()

    def __len__(self) -> int:
        return len(self.data)

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The samples of an epoch, attacked."""
        wanted = [(epoch, k) for k in sorted(set((index // BLOCK).tolist()))]
        self._kept = {at: self._kept[at] if at in self._kept else self._block(*at) for at in wanted}
        images = torch.stack([self._kept[epoch, i // BLOCK].images[i % BLOCK] for i in index.tolist()])
        labels = torch.stack([self._kept[epoch, i // BLOCK].labels[i % BLOCK] for i in index.tolist()])
        return Batch(images, labels)

    def _block(self, epoch: int, k: int) -> Batch:
        index = torch.arange(k * BLOCK, min((k + 1) * BLOCK, len(self.data)))
        images, labels, _ = self.data.batch(index, epoch)
        attack = replace(self.attack, seed=(self.attack.seed * 1_000_003 + epoch) * 1_000_003 + k)
        return Batch(attack(self.model, images, single(labels)), labels)
