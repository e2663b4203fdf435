"""A universal perturbation: one for all images, drawn by a generator that learns to mislead a network."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice
from typing import ClassVar, Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from torchcaps.attacks._art import find_loss
from torchcaps.attacks._base import Attack, Norm, frozen, length, single
from torchcaps.data import Batch, Dataset
from torchcaps.infer import ready
from torchcaps.losses import multi_hot
from torchcaps.network import Model

LATENT = 100
Aim = Literal["wrong", "away"]
AIMS: tuple[Aim, ...] = get_args(Aim)


class PerturbationGenerator(nn.Module):
    """From a vector of 100 numbers between 0 and 1 to a perturbation, through three transposed convolutions, each with
    batch normalisation (chen2019, supplement 6.2).

    The paper gives no kernels, strides or numbers of maps: here the first convolution spans a quarter of the image's
    height and width, the others double them, with 128 and 64 maps. A perturbation is normalised by itself, in use as in
    training.

    >>> PerturbationGenerator((3, 30, 30))(torch.rand(1, 100), 0.1, "linf").abs().max() <= 0.1
    tensor(True)
    """

    def __init__(self, image_shape: tuple[int, int, int]) -> None:
        super().__init__()
        c, *self.size = image_shape
        first = [max(2, -(-side // 4)) for side in self.size]
        self.layers = nn.Sequential(
            nn.Unflatten(1, (LATENT, 1, 1)),
            nn.ConvTranspose2d(LATENT, 128, (first[0], first[1]), bias=False),
            nn.BatchNorm2d(128, track_running_stats=False),
            nn.ReLU(),
            nn.ConvTranspose2d(128, 64, 4, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(64, track_running_stats=False),
            nn.ReLU(),
            nn.ConvTranspose2d(64, c, 4, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(c, track_running_stats=False),
        )

    def forward(self, latent: Float[Tensor, "b z"], eps: float, norm: Norm) -> Float[Tensor, "b c h w"]:
        """Perturbations within eps: eps · tanh for L∞, on the sphere of radius eps for L2."""
        drawn: Tensor = self.layers(latent)[..., : self.size[0], : self.size[1]]
        return eps * drawn.tanh() if norm == "linf" else eps * drawn / length(drawn).clamp_min(1e-12)


@dataclass(frozen=True)
class Fixed(Attack):
    """One perturbation for all images, whatever they show.

    >>> from torchcaps.models import create_model
    >>> attack = Fixed(0.1, perturbation=torch.full((1, 1, 28, 28), 0.3))
    >>> attack(create_model("chen2019/lenet"), torch.zeros(1, 1, 28, 28), torch.tensor([0])).unique()
    tensor([0.1000])

    Args:
        perturbation: what is added to every image.
    """

    name: ClassVar[str] = "universal"
    perturbation: Float[Tensor, "1 c h w"] = field(kw_only=True)

    def search(
        self, model: Model, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"]
    ) -> Float[Tensor, "b c h w"]:
        """The images, perturbed."""
        return images + self.perturbation.to(images)

    def shuffled(self) -> "Fixed":
        """The control: noise of the same norm, whichever norm, the same numbers at other pixels with other signs."""
        chance = torch.Generator().manual_seed(self.seed)
        flat = self.perturbation.flatten()
        signs = torch.randint(0, 2, flat.shape, generator=chance) * 2 - 1
        noise = flat[torch.randperm(len(flat), generator=chance).to(flat.device)] * signs.to(flat)
        return replace(self, perturbation=noise.reshape(self.perturbation.shape))


@dataclass(frozen=True)
class Universal(Attack):
    """One perturbation for all images, learned with random wrong labels (chen2019, supplement 6.2, "white box").

    In every iteration the generator draws a perturbation for a batch of images, each image is given a wrong label at
    random, and the generator, not the network, takes a step of Adam towards these labels. The perturbation that is
    shown is drawn from one latent vector throughout. The paper states no bound; here eps is one.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> net, digits = create_model("chen2019/lenet", pretrained=True), load("glyphs", "test", count=50)
    >>> attack = Universal(0.3, iterations=3).learned(net, digits)
    >>> attack.perturbation.shape, bool(attack.perturbation.abs().max() <= 0.3)
    (torch.Size([1, 1, 28, 28]), True)

    Args:
        loss: of scores against the wrong labels; as in `FGSM`.
        iterations: steps of the generator.
        lr: of Adam.
        batch_size: images in an iteration.
        learn_on: the images it learns from; if not given, those under attack.
        aim: "wrong" steps towards wrong labels, as the paper has it; "away" steps away from the right ones. A
            perturbation that is one for all leads to one class, and cross entropy against random labels punishes every
            class that is sure: at eps 0.5 the shipped LeNet keeps about 60 % of MNIST's test images under "wrong", 10 %
            under "away".
    """

    name: ClassVar[str] = "universal"
    loss: str | nn.Module = "ce"
    iterations: int = 200
    lr: float = 0.01
    batch_size: int = 128
    learn_on: Dataset | None = None
    aim: Aim = "wrong"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.aim not in AIMS:
            raise ValueError(f"aim={self.aim!r} is not allowed: choose one of {', '.join(map(repr, AIMS))}")
        if self.iterations < 1:
            raise ValueError(f"iterations={self.iterations} is not allowed: at least one is needed")

    def search(
        self, model: Model, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"]
    ) -> Float[Tensor, "b c h w"]:
        """The images with the perturbation learned from `learn_on` or, without it, from these images alone."""
        return self.learned(model, _Given(images, labels)).search(model, images, labels)

    def learned(self, model: Model, data: Dataset) -> Fixed:
        """The perturbation after all iterations."""
        *_, last = self.perturbations(model, data)
        return last

    def perturbations(self, model: Model, data: Dataset) -> Iterator[Fixed]:
        """The perturbation before the first iteration and after each."""
        data = data if self.learn_on is None else self.learn_on
        loss = find_loss(model, self.loss)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            generator = PerturbationGenerator(data.image_shape)
        chance = torch.Generator().manual_seed(self.seed)
        shown = torch.rand(1, LATENT, generator=chance)
        adam = torch.optim.Adam(generator.parameters(), lr=self.lr)
        epochs = (data.batches(self.batch_size, epoch=k, shuffle=True) for k in count())
        for images, labels, _ in islice(chain.from_iterable(epochs), self.iterations):
            yield self._drawn(generator, shown)
            with frozen(model):
                drawn = generator(torch.rand(1, LATENT, generator=chance), self.eps, self.norm)
                perturbed = images + drawn.to(images)
                scores = model(ready(model, perturbed.clamp(0, 1) if self.clip else perturbed)).scores
                adam.zero_grad()
                self._loss(loss, scores, single(labels).to(scores.device), chance).backward()
                adam.step()
        yield self._drawn(generator, shown)

    def _loss(self, loss: nn.Module, scores: Tensor, labels: Tensor, chance: torch.Generator) -> Tensor:
        classes = scores.shape[-1]
        aimed = wrong_labels(labels, classes, chance) if self.aim == "wrong" else labels
        value: Tensor = loss(scores, multi_hot(aimed, classes))
        return value if self.aim == "wrong" else -value

    def _drawn(self, generator: PerturbationGenerator, latent: Tensor) -> Fixed:
        with torch.no_grad():
            perturbation = generator(latent, self.eps, self.norm)
        return Fixed(self.eps, self.norm, self.clip, self.seed, perturbation=perturbation)


def wrong_labels(labels: Int[Tensor, " b"], classes: int, chance: torch.Generator) -> Int[Tensor, " b"]:
    """For each image a class that it does not show, all as likely.

    >>> wrong_labels(torch.tensor([0, 1, 0]), 2, torch.Generator())
    tensor([1, 0, 1])
    """
    return (labels + torch.randint(1, classes, labels.shape, generator=chance).to(labels)) % classes


class _Given(Dataset):
    """Images that are at hand, as a data set."""

    def __init__(self, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"]) -> None:
        _, c, h, w = images.shape
        super().__init__((), (c, h, w))
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.images)

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The images with these indices."""
        return Batch(self.images[index], self.labels[index, None])
