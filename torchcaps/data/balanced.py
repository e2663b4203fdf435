"""Classes of unequal size, each weighed alike."""

import torch
from jaxtyping import Int
from torch import Tensor

from torchcaps.data._dataset import Batch, Dataset
from torchcaps.data._random import uniform


class Balanced(Dataset):
    """Another data set with every class equally often: images of small classes come again, of large ones some wait.

    An epoch is as long as before. Which image stands for its class is drawn anew in every epoch.

    >>> from torchcaps.data import Stored
    >>> few = Stored(torch.zeros(8, 1, 1, 1, dtype=torch.uint8), torch.tensor([0, 0, 0, 0, 0, 0, 0, 1]), ("a", "b"))
    >>> Balanced(few).batch(torch.arange(8)).labels.sum()
    tensor(4)

    Args:
        data: stored images, or what a generator makes of each; one label an image.
    """

    def __init__(self, data: Dataset) -> None:
        super().__init__(data.classes, data.image_shape, seed=data.seed)
        source = getattr(data, "source", data)
        labels = getattr(source, "labels", None)
        if labels is None or len(labels) != len(data) or data.batch(torch.arange(1)).labels.shape[1] != 1:
            raise ValueError(f"{type(data).__name__} cannot be balanced: that takes one label an image")
        self.data = data
        self.order = labels.argsort(stable=True)
        counts = labels.bincount(minlength=len(data.classes))
        self.present = counts.nonzero()[:, 0]
        self.counts, self.starts = counts, counts.cumsum(0) - counts

    def __len__(self) -> int:
        return len(self.data)

    def batch(self, index: Int[Tensor, " b"], epoch: int = 0) -> Batch:
        """The samples of this epoch."""
        label = self.present[index.to(self.present.device) % len(self.present)]
        count = self.counts[label]
        draw = (uniform(self.seed, epoch, index, 70).to(count.device).double() * count).long().clamp(max=count - 1)
        return self.data.batch(self.order[self.starts[label] + draw], epoch)
