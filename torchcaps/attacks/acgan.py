"""The AC-GAN of chen2019: a generator of images of a wanted class, the discriminator it learns against, and a file."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from einops import rearrange
from jaxtyping import Float, Int
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from torchcaps._atomic import replaced, write_text
from torchcaps.models._assemble import widen

LATENT, SIDE = 100, 28
CONFIG, FORMAT = "acgan.json", 1


class Generator(nn.Module):
    """From a latent vector and a class to an image of 28×28 (chen2019, section 4.2, after Odena et al. 2017).

    A fully connected layer leads from 100 numbers to 3×3×384, transposed convolutions to 7×7×192, 14×14×96 and the
    image. The paper leaves kernels, activations and the way of the class into the network open; the layers it lists are
    those of Keras's example `mnist_acgan`, so what is left is taken from there: kernels of 5, ReLU and then batch
    normalisation, a tanh at the end, and a latent vector multiplied by a vector learned for the class.

    >>> net = Generator(("zero", "one"), width=0.1).eval()
    >>> net(torch.zeros(2, 100), torch.tensor([0, 1])).shape
    torch.Size([2, 1, 28, 28])

    Args:
        classes: names of the classes.
        channels: of the images.
        width: factor of the numbers of maps; 1 is the paper's.
    """

    def __init__(self, classes: Sequence[str], *, channels: int = 1, width: float = 1.0) -> None:
        super().__init__()
        self.classes, self.channels, self.width = tuple(classes), channels, width
        a, b, c = (widen(maps, width) for maps in (384, 192, 96))
        self.embed = nn.Embedding(len(self.classes), LATENT)
        self.layers = nn.Sequential(
            nn.Linear(LATENT, 9 * a),
            nn.ReLU(),
            nn.Unflatten(1, (a, 3, 3)),
            nn.ConvTranspose2d(a, b, 5),
            nn.ReLU(),
            nn.BatchNorm2d(b),
            nn.ConvTranspose2d(b, c, 5, stride=2, padding=2, output_padding=1),
            nn.ReLU(),
            nn.BatchNorm2d(c),
            nn.ConvTranspose2d(c, channels, 5, stride=2, padding=2, output_padding=1),
            nn.Tanh(),
        )
        glorot(self)

    def forward(self, latent: Float[Tensor, "b z"], labels: Int[Tensor, " b"]) -> Float[Tensor, "b c h w"]:
        """Images from 0 to 1."""
        drawn: Tensor = self.layers(latent * self.embed(labels))
        return (drawn + 1) / 2


class Discriminator(nn.Module):
    """From an image to two answers: how real it looks, and of which class (chen2019, section 4.2).

    Four convolutions of 32, 64, 128 and 256 maps, each with leaky ReLU and dropout; kernels of 3, strides 2, 1, 2, 1, a
    slope of 0.2 and a rate of 0.3 are those of Keras's example.

    >>> real, kind = Discriminator(10, width=0.1)(torch.rand(2, 1, 28, 28))
    >>> real.shape, kind.shape
    (torch.Size([2]), torch.Size([2, 10]))
    """

    def __init__(self, classes: int, *, channels: int = 1, width: float = 1.0) -> None:
        super().__init__()
        maps = [channels, *(widen(m, width) for m in (32, 64, 128, 256))]
        parts = list[nn.Module]()
        for k, stride in enumerate((2, 1, 2, 1)):
            parts += [nn.Conv2d(maps[k], maps[k + 1], 3, stride, 1), nn.LeakyReLU(0.2), nn.Dropout(0.3)]
        self.convs = nn.Sequential(*parts)
        self.real, self.kind = (nn.Linear(maps[-1] * (SIDE // 4) ** 2, n) for n in (1, classes))
        glorot(self)

    def forward(self, images: Float[Tensor, "b c h w"]) -> tuple[Float[Tensor, " b"], Float[Tensor, "b n"]]:
        """Logits of being real, and of the classes."""
        features = rearrange(self.convs(2 * images - 1), "b c h w -> b (c h w)")
        return self.real(features)[:, 0], self.kind(features)


def latent(count: int, chance: torch.Generator | None = None) -> Float[Tensor, "b z"]:
    """Latent vectors, every number between −1 and 1."""
    return torch.rand(count, LATENT, generator=chance) * 2 - 1


def glorot(net: nn.Module) -> None:
    """First weights after Glorot, biases zero."""
    for module in net.modules():
        if isinstance(module, nn.Linear | nn.Conv2d | nn.ConvTranspose2d | nn.Embedding):
            nn.init.xavier_normal_(module.weight)
        if isinstance(module, nn.Linear | nn.Conv2d | nn.ConvTranspose2d) and module.bias is not None:
            nn.init.zeros_(module.bias)


def save_generators(generators: Sequence[Generator], directory: str | Path) -> Path:
    """Write the generators of all epochs into a directory, weights as safetensors; nothing is pickled.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     where = save_generators([Generator(("zero", "one"), width=0.05)], folder)
    ...     len(load_generators(where))
    1
    """
    if not generators:
        raise ValueError("there are no generators to save")
    folder = Path(directory)
    for epoch, net in enumerate(generators, 1):
        with replaced(_file(folder, epoch)) as part:
            save_file({name: t.contiguous() for name, t in net.state_dict().items()}, part)
    one = generators[0]
    facts = {"classes": one.classes, "channels": one.channels, "width": one.width, "epochs": len(generators)}
    write_text(folder / CONFIG, json.dumps({"format": FORMAT, **facts}, indent=2) + "\n")
    return folder


def load_generators(directory: str | Path) -> list[Generator]:
    """The generators that `save_generators` wrote, one for each epoch, ready to draw.

    >>> load_generators("nowhere")
    Traceback (most recent call last):
    FileNotFoundError: nowhere holds no generators: ...
    """
    folder = Path(directory)
    if not (folder / CONFIG).is_file():
        raise FileNotFoundError(f"{folder} holds no generators: it has no {CONFIG}")
    facts = json.loads((folder / CONFIG).read_text())
    if facts.pop("format", None) != FORMAT:
        raise ValueError(f"{folder / CONFIG} cannot be read: this version reads format {FORMAT}")
    found = list[Generator]()
    for epoch in range(1, facts["epochs"] + 1):
        with torch.random.fork_rng(devices=[]):  # first weights are drawn, and overwritten
            net = Generator(facts["classes"], channels=facts["channels"], width=facts["width"])
        net.load_state_dict(load_file(_file(folder, epoch)))
        found.append(net.eval().requires_grad_(False))
    return found


def _file(folder: Path, epoch: int) -> Path:
    return folder / f"epoch-{epoch}.safetensors"
