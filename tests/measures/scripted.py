"""Networks that say what a test wrote or keep what they are shown, and data sets that can be checked by hand."""

import torch
from torch import nn

from torchcaps.data import Batch, Dataset, Stored
from torchcaps.layers import ActivationHead, CapsuleLayer, LinearHead, PrimaryCapsules
from torchcaps.network import CapsNet, ConvNet
from torchcaps.routing import Dynamic
from torchcaps.types import Capsules, Parse


class Numbered(Dataset):
    """Images that show nothing but their number, in an order of the test's choice."""

    def __init__(self, order, labels=None, classes=("a", "b", "c", "d")):
        super().__init__(classes, (1, 1, 1))
        self.order = torch.as_tensor(order)
        self.labels = torch.zeros(len(self.order), 1, dtype=torch.long) if labels is None else labels

    def __len__(self):
        return len(self.order)

    def batch(self, index, epoch=0):
        which = self.order[index]
        return Batch(which.float().reshape(-1, 1, 1, 1), self.labels[which])


class Scripted(CapsNet):
    """Layers that are real, so that measures can ask them, and a parse that is written."""

    def __init__(self, acts, couplings=(), *, options=None, scores=None, poses=None, routing=Dynamic):
        grid, n = acts[0].shape[1:3], acts[0].shape[3]
        primary = PrimaryCapsules((2 * n, *grid), n=n, d=2, kernel=None)
        shape, layers = primary.shape_out, []
        for act, option in zip(acts[1:], options or [{}] * (len(acts) - 1), strict=True):
            layers.append(CapsuleLayer(shape, act.shape[3], 2, **{"routing": routing, **option}))
            shape = layers[-1].shape_out
            assert shape.grid == tuple(act.shape[1:3])
        head = ActivationHead(shape) if layers[-1].routing.activates else LinearHead(shape)
        super().__init__(nn.Identity(), primary, layers, head)
        poses = [act[..., None].expand(*act.shape, 2) for act in acts] if poses is None else poses
        self.said = [Capsules(pose, act) for pose, act in zip(poses, acts, strict=True)]
        self.couplings, self.scores = list(couplings), acts[-1][:, 0, 0] if scores is None else scores

    def forward(self, x, record="none"):
        which = x[:, 0, 0, 0].long()
        said = [Capsules(pose[which], act[which]) for pose, act in self.said]
        if record == "none":
            return Parse(self.scores[which], said[-1:], [], [])
        return Parse(self.scores[which], said, [c[which] for c in self.couplings], [])


class Eyes(ConvNet):
    """Keeps what it is shown, and answers at random."""

    def __init__(self, classes=10):
        super().__init__(nn.Identity())
        self.seen, self.classes = [], classes

    def forward(self, x, record="none"):
        self.seen.append(x)
        return super().forward(x, record)._replace(scores=torch.rand(len(x), self.classes))


def specks(count=9, classes=3, size=8, seed=0):
    """Small grey images of random pixels, with labels in turn."""
    chance = torch.Generator().manual_seed(1)
    images = torch.randint(1, 200, (count, 1, size, size), dtype=torch.uint8, generator=chance)
    return Stored(images, torch.arange(count) % classes, "abcdefghij"[:classes], seed=seed)
