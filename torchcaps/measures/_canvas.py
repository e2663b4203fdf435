"""What a network can be shown: the images behind a data set, on the canvas the network was built for."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from torchcaps.data import Affine, Augmented, Batch, Dataset, Overlapping, Placed, Stored
from torchcaps.models import card
from torchcaps.network import Model
from torchcaps.windows import Pair, pair


def stored(data: Dataset, what: str) -> Stored:
    """The stored images that a data set is, or draws from.

    >>> digits = Stored(torch.zeros(2, 1, 28, 28, dtype=torch.uint8), torch.tensor([0, 1]), ("a", "b"))
    >>> stored(Placed(digits), "affine") is digits
    True

    Args:
        what: the measure that needs them.
    """
    match data:
        case Stored():
            return data
        case Placed() | Affine() | Overlapping():
            return data.source
        case Augmented():
            return stored(data.data, what)
    raise ValueError(f"{what!r} needs stored images, and {type(data).__name__} has none: judge it on 'clean' alone")


def canvas(model: Model, data: Dataset, source: Stored, image_size: Pair | None = None) -> tuple[int, int]:
    """Height and width of the images a network takes.

    They are `image_size` if given, those of its recipe if `create_model` built it, and otherwise those of the data.

    Args:
        data: what the network is judged on.
        source: the images to put on the canvas: they must not be larger, and have the network's channels.
    """
    c, h, w = source.image_shape
    size = data.image_shape[1:]
    if model.recipe:
        chans, *own = card(model.recipe["name"]).image
        options = model.recipe["options"]
        size = pair(options.get("image_size", tuple(own)), "image_size")
        chans = options.get("in_chans", chans)
        if chans != c:
            raise ValueError(f"the model takes images of {chans} channels, but those of the data have {c}")
    if image_size is not None:
        size = pair(image_size, "image_size")
    if size[0] < h or size[1] < w:
        raise ValueError(f"the model takes images of {size[0]}×{size[1]}, but those of the data are {h}×{w}")
    return size


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
