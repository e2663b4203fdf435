"""The smallest training there is."""

import torch
from torch import nn

from torchcaps.data import Batch, Dataset
from torchcaps.network import ConvNet


class Separable(Dataset):
    """Two classes that one step can tell apart: the pixel is black or white."""

    def __init__(self, count=32):
        super().__init__(("black", "white"), (1, 1, 1))
        self.count = count

    def __len__(self):
        return self.count

    def batch(self, index, epoch=0):
        return Batch((index % 2).float()[:, None, None, None], (index % 2)[:, None])


def linear(*extra):
    """A network of four numbers that can."""
    torch.manual_seed(0)
    return ConvNet(nn.Sequential(nn.Flatten(), nn.Linear(1, 2), *extra))
