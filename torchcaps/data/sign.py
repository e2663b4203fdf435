"""Numbers and their signs (peer2021, section 5.2)."""

from typing import Any

from jaxtyping import Int
from torch import Tensor

from torchcaps.data._dataset import Batch, Dataset
from torchcaps.data._random import uniform

APART, VALIDATION = {"train": 0, "test": 1}, 1000
LEAP = 2048  # between the seeds of two data sets, so that no part of one is another part of the other


def validation_seed(train: int, seed: int) -> int:
    """Of numbers to judge by: one of a thousand that belong to no training and no test numbers.

    >>> validation_seed(0, 7), validation_seed(2048, 7)
    (1007, 3055)
    """
    return train + VALIDATION + seed % (LEAP - VALIDATION)


class Sign(Dataset):
    """Numbers from −1 to 1 as images of one pixel; class 1 if they are not negative.

    >>> Sign(count=100).batch(torch.arange(3)).images.shape
    torch.Size([3, 1, 1, 1])
    """

    def __init__(self, *, count: int = 20_000, seed: int = 0) -> None:
        super().__init__(("negative", "positive"), (1, 1, 1), seed=seed)
        self.count = count

    @classmethod
    def part(cls, name: str, *, seed: int = 0, **options: Any) -> "Sign":
        """The numbers to learn from or to test by, drawn with seeds of their own.

        >>> Sign.part("test").seed, Sign.part("train", seed=1).seed
        (1, 2048)
        """
        return cls(seed=seed * LEAP + APART[name], **options)

    def __len__(self) -> int:
        return self.count

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The same numbers in every epoch."""
        x = uniform(self.seed, 0, index, 50, -1.0, 1.0)
        return Batch(x[:, None, None, None], (x >= 0).long()[:, None])
