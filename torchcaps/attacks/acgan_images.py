"""Images that an AC-GAN draws: as a data set to judge networks by, and as the sheet of chen2019's figure 2."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from einops import rearrange
from jaxtyping import UInt8
from torch import Tensor

from torchcaps.attacks.acgan import Generator, latent
from torchcaps.data import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AT_ONCE = 500


def drawn_by(generator: Generator, *, per_class: int = 400, seed: int = 0) -> Stored:
    """A generator's images, as many of each class: 4,000 of ten digits in the paper (chen2019, section 4.2, table 3).

    >>> drawn_by(Generator(("zero", "one"), width=0.05).eval(), per_class=3).labels.tolist()
    [0, 1, 0, 1, 0, 1]

    Args:
        generator: of some epoch; it is asked in evaluation mode.
        seed: of the latent vectors.
    """
    labels = torch.arange(len(generator.classes)).repeat(per_class)
    noise = latent(len(labels), torch.Generator().manual_seed(seed))
    device = next(generator.parameters()).device
    with torch.no_grad():
        parts = [
            _drawn(generator, z.to(device), y.to(device))
            for z, y in zip(noise.split(AT_ONCE), labels.split(AT_ONCE), strict=True)
        ]
    return Stored(torch.cat(parts), labels, generator.classes)


def _drawn(generator: Generator, noise: Tensor, labels: Tensor) -> UInt8[Tensor, "b c h w"]:
    images: Tensor = generator(noise, labels)
    return (images * 255).round().byte().cpu()


def sheet(axes: "Axes", generators: Sequence[Generator], *, each: int = 2, seed: int = 0) -> None:
    """The images of figure 2: an epoch a row, the first above, and each class in its columns.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> sheet(axes, [Generator(("zero", "one"), width=0.05).eval()])
    >>> len(axes.images)
    1

    Args:
        axes: of matplotlib.
        each: images of a class.
    """
    rows = [drawn_by(net, per_class=each, seed=seed) for net in generators]
    names, (channels, height, width) = generators[0].classes, rows[0].image_shape
    stacked = torch.stack([row.images for row in rows])
    image = rearrange(stacked, "r (k n) c h w -> (r h) (n k w) c", k=each).numpy()
    axes.imshow(image[..., 0] if channels == 1 else image, cmap="gray_r" if channels == 1 else None, vmin=0, vmax=255)
    axes.set_xticks([(n + 0.5) * each * width for n in range(len(names))], names)
    axes.set_yticks([(r + 0.5) * height for r in range(len(rows))], [str(r + 1) for r in range(len(rows))])
    axes.tick_params(length=0)
    axes.set(title="Images of the AC-GAN", xlabel="class", ylabel="epoch")
