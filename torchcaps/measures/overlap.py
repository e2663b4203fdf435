"""Telling overlapping objects apart: how often a network names both of two."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from torchcaps.data import Batch, Dataset, Overlapping
from torchcaps.measures._canvas import canvas, stored
from torchcaps.measures.accuracy import Report, Score, accuracy, silent
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
    report: Report = silent,
) -> Score:
    """Accuracy on pairs of images of different classes, one over the other: both must be named (gu2021, section 3.2).

    The two classes with the highest scores are taken, whatever the network was trained on. One that was trained on
    pairs (the data set `multi_mnist`) is tested as in the paper; of one that only ever saw single images this asks more
    than it was taught, whether its second best class is the second object.

    Two images of 28×28, each moved by up to 4 pixels, share 36×36. A larger network gets them in the middle of its
    canvas, a smaller one the middle of them: at 28×28 that cuts what moved beyond the frame, on MNIST 0.5 %
    of the ink.

    >>> from torchcaps.data import load
    >>> from torchcaps.models import create_model
    >>> net = create_model("gu2021/convnet_fc_lk", width=0.02)
    >>> overlap(net, load("glyphs", "test", count=50)).count
    50

    Args:
        data: stored images, or a generator such as `Overlapping` whose stored images are taken.
        pairs: how many pairs each image leads.
        image_size: height and width the network takes; by default as its recipe has it, or the data.
        seed: of partners and shifts; with the same seed every network sees the same pairs.
        report: told after each batch how many pairs are done, of how many.
    """
    source = stored(data, "overlap")
    if len(source.classes) < 3:
        raise ValueError(
            f"'overlap' needs at least 3 classes, not {len(source.classes)}: of two, the best two are both"
        )
    size = canvas(model, data, source, image_size)
    framed = Framed(Overlapping(source, pairs=pairs, seed=seed), size)
    return accuracy(model, framed, batch_size=batch_size, report=report)


class Framed(Dataset):
    """Another data set on a canvas of another size: black around its images, or their middle.

    Args:
        size: height and width of the canvas.
    """

    def __init__(self, data: Dataset, size: tuple[int, int]) -> None:
        super().__init__(data.classes, (data.image_shape[0], *size), seed=data.seed)
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The samples as this epoch has them, framed; single objects are not kept."""
        images, labels, _ = self.data.batch(index, epoch)
        return Batch(framed(images, self.image_shape[1:]), labels)


def framed(images: Float[Tensor, "b c h w"], size: tuple[int, int]) -> Float[Tensor, "b c h2 w2"]:
    """Images in the middle of a canvas, cut where it is smaller.

    >>> framed(torch.ones(1, 1, 1, 3), (2, 1))
    tensor([[[[1.],
              [0.]]]])
    """
    tall, wide = (to - now for to, now in zip(size, images.shape[-2:], strict=True))
    return F.pad(images, (wide // 2, wide - wide // 2, tall // 2, tall - tall // 2))
