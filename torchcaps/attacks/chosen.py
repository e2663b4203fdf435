"""A part of a data set that speaks for the whole."""

from jaxtyping import Int
from torch import Tensor

from torchcaps.data import Batch, Dataset
from torchcaps.data._random import permutation


class Chosen(Dataset):
    """So many samples of another data set, the first of a random order that no seed changes.

    Everybody gets the same ones, and of images that lie sorted by class, as in folders, all classes are there.

    >>> from torchcaps.data import Sign
    >>> len(Chosen(Sign(count=100), 10)), len(Chosen(Sign(count=5), 10))
    (10, 5)
    """

    def __init__(self, data: Dataset, count: int) -> None:
        super().__init__(data.classes, data.image_shape, seed=data.seed)
        self.data, self.index = data, permutation(0, 0, len(data))[:count]

    def __len__(self) -> int:
        return len(self.index)

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The samples with these indices among the chosen."""
        return self.data.batch(self.index[index.cpu()], epoch)
