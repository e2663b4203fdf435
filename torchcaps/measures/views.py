"""What a network is shown: the images as they are, or others made of them, at the size it takes."""

from collections.abc import Callable

from torchcaps.data import Affine, Dataset, Overlapping, Strength
from torchcaps.measures._canvas import Framed, canvas, stored
from torchcaps.network import Model
from torchcaps.windows import Pair

View = Callable[[Model, Dataset], Dataset]
"""From a network and a data set to the images that the network is to be shown."""


def clean(model: Model, data: Dataset) -> Dataset:  # noqa: ARG001  # other views fit the images to the network
    """The data as it is."""
    return data


def affine(strength: Strength | None = None, *, image_size: Pair | None = None, seed: int = 0) -> View:
    """Images that are rotated, sheared, scaled and moved at random (gu2021, section 3.1).

    A network that is larger than the images gets them warped on a black canvas of its own size; one that is not gets
    them warped in place. No ink is lost either way: of the random warps the first that fits is taken, and what never
    fits is shrunk until it does. In place that happens often (MNIST's digits come out at 0.87 of their size, on 40×40
    at 0.98, in the median), and photographs, which fill their frame, always shrink.

    Args:
        strength: of the warps; the paper's if not given.
        image_size: height and width the network takes; by default as its recipe has it, or the data.
        seed: of the warps; with the same seed every network sees the same images.
    """

    def view(model: Model, data: Dataset) -> Dataset:
        source = stored(data, "affine")
        height, width = canvas(model, data, source, image_size)
        if height != width:
            raise ValueError(f"'affine' draws on square canvases, but the model takes images of {height}×{width}")
        return Affine(source, canvas=height, strength=strength, seed=seed)

    return view


def overlap(pairs: int = 1, *, image_size: Pair | None = None, seed: int = 0) -> View:
    """Pairs of images of different classes, one over the other (gu2021, section 3.2).

    Two images of 28×28, each moved by up to 4 pixels, share 36×36. A larger network gets them in the middle of its
    canvas, a smaller one the middle of them: at 28×28 that cuts what moved beyond the frame, on MNIST 0.5 % of the ink.

    Args:
        pairs: how many pairs each image leads.
        image_size: height and width the network takes; by default as its recipe has it, or the data.
        seed: of partners and shifts; with the same seed every network sees the same pairs.
    """

    def view(model: Model, data: Dataset) -> Dataset:
        source = stored(data, "overlap")
        if len(source.classes) < 3:
            raise ValueError(
                f"'overlap' needs at least 3 classes, not {len(source.classes)}: of two, the best two are both"
            )
        size = canvas(model, data, source, image_size)
        return Framed(Overlapping(source, pairs=pairs, seed=seed), size)

    return view


VIEWS: dict[str, View] = {"clean": clean, "affine": affine(), "overlap": overlap()}
