"""What every data set is: samples by index, whole batches at once."""

import copy
import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from torchcaps.data._random import permutation

Data = TypeVar("Data", bound="Dataset")


class Batch(NamedTuple):
    """Images with their labels; where an image shows several objects, one label for each, and each object alone."""

    images: Float[Tensor, "b c h w"]
    labels: Int[Tensor, "b k"]
    singles: Float[Tensor, "b k c h w"] | None = None


class Dataset:
    """Samples by index. What is random in a sample depends on (seed, epoch, index) alone.

    >>> class Noise(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def batch(self, index, epoch=0):
    ...         return Batch(torch.rand(len(index), *self.image_shape), index[:, None] % 2)
    >>> [len(batch.labels) for batch in Noise(("a", "b"), (1, 2, 2)).batches(3)]
    [3, 1]

    Args:
        classes: the names of the classes.
        image_shape: channels, height, width.
        seed: of all that is drawn.
    """

    def __init__(self, classes: Sequence[str], image_shape: tuple[int, int, int], *, seed: int = 0) -> None:
        self.classes, self.image_shape, self.seed = tuple(classes), image_shape, seed

    def __len__(self) -> int:
        """How many samples an epoch has."""
        raise TypeError(f"{type(self).__name__} must define __len__()")

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The samples with these indices, as they are in an epoch."""
        raise TypeError(f"{type(self).__name__} must define batch(index, epoch)")

    def to(self: Data, device: str | torch.device) -> Data:
        """The same data with all that it holds on a device: what is random is drawn there, as it is anywhere.

        >>> Dataset(("a", "b"), (1, 28, 28)).to("cpu").device
        device(type='cpu')
        """
        there = copy.copy(self)
        for name, held in self._held():
            setattr(there, name, held.to(device))
        return there

    @property
    def device(self) -> torch.device:
        """Where it lies."""
        return next((held.device for _, held in self._held()), torch.device("cpu"))

    @property
    def nbytes(self) -> int:
        """How much memory it takes, with what it draws from."""
        return sum(held.nbytes for _, held in self._held())

    def _held(self) -> Iterator[tuple[str, "Tensor | Dataset"]]:
        for name, held in vars(self).items():
            if isinstance(held, Tensor | Dataset):
                yield name, held

    def batches(self, size: int, *, epoch: int = 0, shuffle: bool = False, start: int = 0) -> Iterator[Batch]:
        """An epoch in batches; shuffled, its order depends on (seed, epoch), and `start` skips batches already seen."""
        order = permutation(self.seed, epoch, len(self)) if shuffle else torch.arange(len(self))
        for index in order.to(self.device).split(size)[start:]:
            yield self.batch(index, epoch)


class Stored(Dataset):
    """Images in memory, a byte a number.

    >>> data = Stored(torch.zeros(4, 1, 2, 2, dtype=torch.uint8), torch.tensor([0, 1, 0, 1]), ("a", "b"))
    >>> data.batch(torch.tensor([1, 3])).labels.tolist()
    [[1], [1]]
    """

    def __init__(
        self, images: UInt8[Tensor, "n c h w"], labels: Int[Tensor, " n"], classes: Sequence[str], *, seed: int = 0
    ) -> None:
        if len(images) != len(labels):
            raise ValueError(f"there are {len(images)} images but {len(labels)} labels")
        _, c, h, w = images.shape
        super().__init__(classes, (c, h, w), seed=seed)
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.images)

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The images as numbers from 0 to 1, the same in every epoch."""
        index = index.to(self.images.device)
        return Batch(self.images[index].float() / 255, self.labels[index, None])

    def select(self, index: Int[Tensor, " m"]) -> "Stored":
        """The data set of these samples."""
        return Stored(self.images[index], self.labels[index], self.classes, seed=self.seed)

    def split(self, held_out: int | float, *, seed: int = 0) -> tuple["Stored", "Stored"]:
        """All but a random part, and that part: training and validation, disjoint.

        Copies of an image that is held out are held out as well, so that no image is on both sides.

        Args:
            held_out: how many samples, or what share of them.
        """
        count = held_out if isinstance(held_out, int) else round(held_out * len(self))
        if not 0 < count < len(self):
            raise ValueError(
                f"held_out={held_out} is not allowed: between 1 and {len(self) - 1} samples can be held out"
            )
        order = permutation(seed, 0, len(self))
        held, rest = order[:count].tolist(), order[count:].tolist()
        digests = contents(self)
        seen = {digests[k] for k in held}
        copies = [k for k in rest if digests[k] in seen]
        kept = [k for k in rest if digests[k] not in seen] if copies else rest
        if not kept:
            raise ValueError(f"held_out={held_out} is not allowed: all other samples are copies of those held out")
        return self.select(torch.tensor(kept)), self.select(torch.tensor(held + copies))


def contents(data: Stored) -> list[bytes]:
    """The SHA-256 of each image."""
    return [hashlib.sha256(image.tobytes()).digest() for image in data.images.cpu().numpy()]


def behind(data: Dataset) -> Dataset:
    """What a data set draws from in the end: the stored images behind a generator or an augmentation, or itself."""
    inner = getattr(data, "source", getattr(data, "data", None))
    return behind(inner) if isinstance(inner, Dataset) else data
