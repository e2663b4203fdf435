"""Robustness against affine transformations: how often a network is right on warped images."""

from torchcaps.data import Affine, Dataset, Strength
from torchcaps.measures._canvas import canvas, stored
from torchcaps.measures.accuracy import Report, Score, accuracy, silent
from torchcaps.network import Model
from torchcaps.windows import Pair


def affine(
    model: Model,
    data: Dataset,
    *,
    strength: Strength | None = None,
    image_size: Pair | None = None,
    seed: int = 0,
    batch_size: int = 256,
    report: Report = silent,
) -> Score:
    """Accuracy on images that are rotated, sheared, scaled and moved at random (gu2021, section 3.1).

    The paper's setting is a network for 40×40 and digits of 28×28: trained on digits that are only placed (the data set
    `placed_mnist`), judged here on warped ones. A network that is larger than the images gets them warped on a black
    canvas of its own size; one that is not gets them warped in place. No ink is lost either way: of the random warps
    the first that fits is taken, and what never fits is shrunk until it does. In place that happens often
    (MNIST's digits come out at 0.87 of their size, on 40×40 at 0.98, in the median), and photographs, which fill their
    frame, always shrink: such figures compare with one another, not with the paper's.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> net = create_model("gu2021/convnet_avg", width=0.02)
    >>> affine(net, load("glyphs", "test", count=50)).count
    50

    Args:
        data: stored images, or a generator such as `Placed` whose stored images are taken.
        strength: of the warps; the paper's if not given.
        image_size: height and width the network takes; by default as its recipe has it, or the data.
        seed: of the warps; with the same seed every network sees the same images.
        report: told after each batch how many images are done, of how many.
    """
    source = stored(data, "affine")
    height, width = canvas(model, data, source, image_size)
    if height != width:
        raise ValueError(f"'affine' draws on square canvases, but the model takes images of {height}×{width}")
    warped = Affine(source, canvas=height, strength=strength, seed=seed)
    return accuracy(model, warped, batch_size=batch_size, report=report)
