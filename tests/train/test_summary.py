"""The line about data that has a name; that of a user's own images is in test_own.py."""

import torch

from tests.train.separable import Separable
from torchcaps.data import Stored
from torchcaps.train.settings import Settings
from torchcaps.train.splits import Splits, split
from torchcaps.train.summary import summary

PIXELS = torch.arange(1200 * 200).reshape(1200, 1, 10, 20) // 200 % torch.tensor([251] * 10 + [256] * 10)
WIDE = Stored(PIXELS.to(torch.uint8), torch.arange(1200) % 3, ("a", "b", "c"))


def test_width_before_height_and_every_image_once():
    settings = Settings("custom", "glyphs")
    [line] = summary(settings, split(WIDE.select(torch.arange(20)), settings), None)
    assert line == (
        "glyphs: 20 images of 3 classes; 20×10; 18 to learn from, 2 to validate; those to test by stay apart"
    )
    few = Settings("custom", "glyphs", overfit=10)
    [line] = summary(few, split(WIDE, few), None)
    assert line.startswith("glyphs: 10 images of 3 classes; 20×10; 10 to learn from, 10 to validate;")
    [line] = summary(settings, Splits(WIDE, None), None)
    assert line.startswith("glyphs: 1,200 images of 3 classes; 20×10; 1,200 to learn from, none to validate;")
    [line] = summary(settings, Splits(Separable(6), Separable(4)), None)
    assert line.startswith("glyphs: 10 images of 2 classes; 1×1; 6 to learn from, 4 to validate;")
