"""Telling overlapping objects apart: how often a network names both of two."""

from torchcaps.data import Dataset
from torchcaps.measures import views
from torchcaps.measures.accuracy import accuracy
from torchcaps.measures.score import Score
from torchcaps.measures.walk import Progress, silent
from torchcaps.network import Model
from torchcaps.windows import Pair


def overlap(
    model: Model,
    data: Dataset,
    *,
    pairs: int = 1,
    image_size: Pair | None = None,
    seed: int = 0,
    batch_size: int = 256,
    progress: Progress = silent,
) -> Score:
    """Accuracy on pairs of images of different classes, one over the other: both must be named (gu2021, section 3.2).

    The two classes with the highest scores are taken, whatever the network was trained on. One that was trained on
    pairs (the data set `multi_mnist`) is tested as in the paper; of one that only ever saw single images this asks more
    than it was taught, whether its second best class is the second object.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> net = create_model("gu2021/convnet_fc_lk", width=0.02)
    >>> overlap(net, load("glyphs", "test", count=50)).count
    50

    Args:
        data: stored images, or a generator such as `Overlapping` whose stored images are taken.
        pairs, image_size, seed: of the pairs, see `views.overlap`.
        progress: told after each batch how many pairs are done, of how many.
    """
    framed = views.overlap(pairs, image_size=image_size, seed=seed)(model, data)
    return accuracy(model, framed, batch_size=batch_size, progress=progress)
