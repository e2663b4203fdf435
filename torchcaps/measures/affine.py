"""Robustness against affine transformations: how often a network is right on warped images."""

from torchcaps.data import Dataset, Strength
from torchcaps.measures import views
from torchcaps.measures.accuracy import accuracy
from torchcaps.measures.score import Score
from torchcaps.measures.walk import Progress, silent
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
    progress: Progress = silent,
) -> Score:
    """Accuracy on images that are rotated, sheared, scaled and moved at random (gu2021, section 3.1).

    The paper's setting is a network for 40×40 and digits of 28×28: trained on digits that are only placed (the data set
    `placed_mnist`), judged here on warped ones. Figures of networks that are not larger than the images compare with
    one another, not with the paper's; `views.affine` says why.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> net = create_model("gu2021/convnet_avg", width=0.02)
    >>> affine(net, load("glyphs", "test", count=50)).count
    50

    Args:
        data: stored images, or a generator such as `Placed` whose stored images are taken.
        strength, image_size, seed: of the warps, see `views.affine`.
        progress: told after each batch how many images are done, of how many.
    """
    warped = views.affine(strength, image_size=image_size, seed=seed)(model, data)
    return accuracy(model, warped, batch_size=batch_size, progress=progress)
