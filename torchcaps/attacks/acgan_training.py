"""Training of an AC-GAN, with the generator of every epoch kept."""

import copy

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from torchcaps.attacks._base import single
from torchcaps.attacks.acgan import SIDE, Discriminator, Generator, latent
from torchcaps.data import Dataset
from torchcaps.measures.walk import Progress, silent

REAL = 0.95  # what the discriminator is told of real images, and the generator wants to hear of its own
LR, BETAS = 2e-4, (0.5, 0.999)


def train_acgan(
    data: Dataset,
    *,
    epochs: int = 5,
    width: float = 1.0,
    batch_size: int = 100,
    seed: int = 0,
    progress: Progress = silent,
) -> list[Generator]:
    """Generators of images like those of a data set, one as it was after each epoch (chen2019, section 4.2).

    Early generators draw images that people can read but that are not quite those of the data, which is what the paper
    wants to test networks with. The discriminator is asked whether an image is real, and of real ones the class; the
    generator, whether its own pass for real and show the class that was wanted. Adam with a rate of 2e-4 and a β₁ of
    0.5, as the paper has it; batches of 100 and labels of 0.95 are those of Keras's example.

    >>> from torchcaps.data import load
    >>> len(train_acgan(load("glyphs", "train", count=40), epochs=2, width=0.03, batch_size=20))
    2

    Args:
        data: images of 28×28 and one class each.
        width: factor of the numbers of maps of both networks.
        seed: of weights, order and noise; with the same seed the same generators.
        progress: told after each batch how many images are done, of how many in all epochs.
    """
    channels, *size = data.image_shape
    if size != [SIDE, SIDE]:
        raise ValueError(f"the AC-GAN draws images of {SIDE}×{SIDE}, but those of the data are {size[0]}×{size[1]}")
    if epochs < 1:
        raise ValueError(f"epochs={epochs} is not allowed: at least one is needed")
    kept = list[Generator]()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        like = data.batch(torch.arange(1)).images
        generator = Generator(data.classes, channels=channels, width=width).to(like.device)
        critic = Discriminator(len(data.classes), channels=channels, width=width).to(like.device)
        duel = _Duel(generator, critic)
        for epoch in range(epochs):
            done = epoch * len(data)
            for images, labels, _ in data.batches(batch_size, epoch=epoch + 1_000_003 * seed, shuffle=True):
                duel.step(images, single(labels))
                done += len(images)
                progress(done, epochs * len(data))
            kept.append(copy.deepcopy(generator).eval().requires_grad_(False))
    return kept


class _Duel:
    """The two networks with their optimisers."""

    def __init__(self, generator: Generator, critic: Discriminator) -> None:
        self.generator, self.critic = generator, critic
        self.adams = [torch.optim.Adam(net.parameters(), lr=LR, betas=BETAS) for net in (generator, critic)]

    def step(self, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"]) -> None:
        """A step of the discriminator on real images and as many drawn ones, then one of the generator on twice as
        many."""
        of_generator, of_critic = self.adams
        wanted = self._some(len(images), images.device)
        drawn = self._drawn(wanted).detach()
        real, kind = self.critic(torch.cat([images, drawn]))
        truth = torch.cat([torch.full_like(real[: len(images)], REAL), torch.zeros_like(real[len(images) :])])
        loss = F.binary_cross_entropy_with_logits(real, truth) + F.cross_entropy(kind[: len(images)], labels)
        _descend(of_critic, loss)
        wanted = self._some(2 * len(images), images.device)
        real, kind = self.critic(self._drawn(wanted))
        loss = F.binary_cross_entropy_with_logits(real, torch.full_like(real, REAL)) + F.cross_entropy(kind, wanted)
        _descend(of_generator, loss)

    def _some(self, count: int, device: torch.device) -> Int[Tensor, " b"]:
        return torch.randint(0, len(self.generator.classes), (count,)).to(device)

    def _drawn(self, labels: Int[Tensor, " b"]) -> Float[Tensor, "b c h w"]:
        drawn: Tensor = self.generator(latent(len(labels)).to(labels.device), labels)
        return drawn


def _descend(adam: torch.optim.Adam, loss: Float[Tensor, ""]) -> None:
    adam.zero_grad()
    loss.backward()
    adam.step()
