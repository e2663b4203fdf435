"""Subjects made by hand for the judges: images whose class can be seen, and networks that look."""

import sys
from pathlib import Path

import torch

from torchcaps.bench import subject as bench_subject
from torchcaps.bench.judges import JUDGES
from torchcaps.bench.subject import Subject, Trained
from torchcaps.data import Stored
from torchcaps.losses import MarginLoss
from torchcaps.network import Model
from torchcaps.train import Settings
from torchcaps.types import Parse

CLASSES = ("a", "b", "c", "d")


class Quadrants(Model):
    """Scores a class 1 where its quadrant is bright, 0 where not, all of them moved by a number."""

    def __init__(self, moved=0.0):
        super().__init__(loss=MarginLoss())
        self.moved = moved

    def forward(self, x, record="none"):
        h, w = x.shape[-2] // 2, x.shape[-1] // 2
        parts = (x[..., :h, :w], x[..., :h, w:], x[..., h:, :w], x[..., h:, w:])
        return Parse(torch.stack([part.amax((1, 2, 3)) for part in parts], -1) + self.moved, [], [], [])


class Constant(Model):
    """Always the same class of four."""

    def __init__(self, answer):
        super().__init__(loss=MarginLoss())
        self.answer = answer

    def forward(self, x, record="none"):
        return Parse(torch.eye(4)[self.answer].repeat(len(x), 1), [], [], [])


class Bright(Model):
    """Two classes: dark images and images that are brighter than one half."""

    def __init__(self):
        super().__init__(loss=MarginLoss())

    def forward(self, x, record="none"):
        bright = x.mean((1, 2, 3)) - 0.5
        return Parse(torch.stack([-bright, bright], -1), [], [], [])


def corners(labels):
    """28×28 images with a bright block in the quadrant of their class, which stays there when moved by 4 pixels."""
    images = torch.zeros(len(labels), 1, 28, 28, dtype=torch.uint8)
    for image, label in zip(images, labels, strict=True):
        row, column = divmod(label, 2)
        image[0, 4 + 14 * row : 10 + 14 * row, 4 + 14 * column : 10 + 14 * column] = 255
    return Stored(images, torch.tensor(labels), CLASSES)


def grey(levels, labels):
    """Even images of these grey levels."""
    images = torch.tensor(levels, dtype=torch.uint8)[:, None, None, None].expand(-1, 1, 4, 4).contiguous()
    return Stored(images, torch.tensor(labels), ("dark", "bright"))


TEST = corners([0, 1, 2, 3, 0, 1, 0, 2, 0, 0, 1, 3])
TRAIN = corners([0, 1, 2, 3] * 2)


def show(monkeypatch, test=TEST, train=TRAIN):
    """Set the images that any settings lead to."""
    monkeypatch.setattr(bench_subject, "_loaded", lambda _, split: {"test": test, "train": train}[split])


def subject(
    model=None,
    *,
    name="chen2019/lenet",
    seed=0,
    data="mnist",
    history=(),
    seen=None,
    folder=Path(),
    others=(),
    **settings,
):
    """A row's own training, and others by their networks."""
    made = Settings(name, data, **settings)
    own = Trained(model or Quadrants(), made, list(history), None, 0, 0.0, seen or {}, folder)
    return Subject(seed, own, tuple(Trained(other, made, [], None, 0, 0.0, {}, folder) for other in others))


def module_of(judge):
    """The file of a judge, which its function hides from imports by name."""
    return sys.modules[JUDGES[judge].__module__]


def values(found):
    """The numbers of what was found, by name."""
    return {name: number.value for name, number in found.numbers.items()}
