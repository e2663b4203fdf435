"""Convolutional networks without capsules, for comparisons on equal terms."""

from torch import Tensor, nn

from torchcaps.losses import CrossEntropy
from torchcaps.model import Model
from torchcaps.types import Parse, Record, check_record


class ConvNet(Model):
    """A plain network from images to class logits; its parse holds scores and nothing else.

    >>> ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(9, 3)))(torch.rand(2, 1, 3, 3)).capsules
    []
    """

    def __init__(self, body: nn.Module, *, loss: nn.Module | None = None) -> None:
        super().__init__(loss=CrossEntropy() if loss is None else loss)
        self.body = body

    def forward(self, x: Tensor, record: Record = "none") -> Parse:
        """Class logits; there is nothing to record."""
        check_record(record)
        return Parse(self.body(x), [], [], [])
